import fc from 'fast-check';
import { readServerSentEvents } from './sse';

async function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let start = 0;
  for (const end of [...places, bytes.length]) {
    yield bytes.subarray(start, end);
    start = end;
  }
}
const read = async (text: string, cuts: readonly number[] = []): Promise<string[]> => {
  const found: string[] = [];
  for await (const { event, data } of readServerSentEvents(chunksOf(Buffer.from(text), cuts)))
    found.push(event === 'message' ? data : `${event}: ${data}`);
  return found;
};

describe('server-sent events', () => {
  it('gives the data of each event and passes over comments, ids and retry hints', async () => {
    expect(await read('retry: 1000\n\n: beat\n\nid: 1\ndata: {"a":1}\n\nid: 2\ndata: x\ndata: y\n\n')).toEqual(['{"a":1}', 'x\ny']);
  });

  it('says how an event is called, and forgets it with the event', async () => {
    expect(await read('event: end\ndata: over\n\nevent: beat\n\ndata: x\n\n')).toEqual(['end: over', 'x']);
  });

  it('gives nothing for an event that was cut off', async () => {
    expect(await read('data: whole\n\ndata: half')).toEqual(['whole']);
  });

  it('is the same however the bytes are cut, also inside a character', async () => {
    const text = 'data: grün\r\n\r\ndata: “quoted”\n\n';
    const whole = await read(text);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(200), { maxLength: 12 }), async (cuts) => {
        expect(await read(text, cuts)).toEqual(whole);
      }),
      { seed: 7 },
    );
    expect(whole).toEqual(['grün', '“quoted”']);
  });
});
