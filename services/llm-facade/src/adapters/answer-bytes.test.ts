import { AnswerBytes } from './answer-bytes';
import type { ByteFilter } from './key-guard';

const open: ByteFilter = { pass: (bytes) => bytes, rest: () => Buffer.alloc(0) };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const start = (filter = open) => {
  const flow: string[] = [];
  const bytes = new AnswerBytes({ pause: () => flow.push('pause'), resume: () => flow.push('resume') }, filter);
  return { bytes, flow, push: (text: string) => bytes.push(Buffer.from(text)) };
};
/** A reader that takes at once, or that is let on piece by piece. */
const reader = (bytes: AnswerBytes, slow = false) => {
  const seen: string[] = [];
  let goOn: () => void = () => undefined;
  const read = bytes.read((piece) => {
    seen.push(piece.toString());
    return slow
      ? new Promise<void>((resolve) => {
          goOn = resolve;
        })
      : undefined;
  });
  const ended = read.then(
    () => 'whole',
    (error: Error) => error.message,
  );
  return { seen, ended, goOn: () => goOn() };
};

describe('the bytes of an answer', () => {
  it('that come in one turn go on in one piece, those of the next one in another', async () => {
    const { bytes, push } = start();
    const { seen, ended } = reader(bytes);
    expect([push('a'), push('b')]).toEqual([true, false]);
    await turn();
    expect(push('c')).toBe(true);
    await turn();
    expect(seen).toEqual(['ab', 'c']);
    push('d');
    bytes.end();
    expect(await ended).toBe('whole');
    expect(seen).toEqual(['ab', 'c', 'd']);
  });

  it('wait for a slow reader, and stop the connection when they are many', async () => {
    const { bytes, push, flow } = start();
    push('early');
    const { seen, ended, goOn } = reader(bytes, true);
    push('x'.repeat(100_000));
    expect(flow).toEqual([]);
    push('y'.repeat(100_000));
    await turn();
    expect([seen, flow]).toEqual([['early'], ['pause']]);
    goOn();
    await turn();
    expect([seen.map(({ length }) => length), flow]).toEqual([[5, 200_000], ['pause']]);
    bytes.end();
    goOn();
    expect(await ended).toBe('whole');
  });

  it('let the connection go on when the reader has taken them', async () => {
    const { bytes, push, flow } = start();
    push('x'.repeat(200_000));
    expect(flow).toEqual(['pause']);
    const { seen } = reader(bytes);
    expect([seen.map(({ length }) => length), flow]).toEqual([[200_000], ['pause', 'resume']]);
  });

  it('come before the error behind them, also to a slow reader', async () => {
    const { bytes, push } = start();
    const { seen, ended, goOn } = reader(bytes, true);
    push('a');
    await turn();
    push('b');
    bytes.end({ error: new Error('broke off') });
    await turn();
    goOn();
    await turn();
    goOn();
    expect(await ended).toBe('broke off');
    expect(seen).toEqual(['a', 'b']);
  });

  it('end where the reader fails, leaves, or may see no more', async () => {
    const failing = start();
    const failed = failing.bytes.read(() => Promise.reject(new Error('no room')));
    failing.push('a');
    await expect(failed).rejects.toThrow('no room');

    const left = start();
    const leaver = reader(left.bytes);
    left.push('a');
    await turn();
    left.bytes.leave();
    left.push('b');
    left.bytes.end({ error: new Error('aborted') });
    expect([await leaver.ended, leaver.seen]).toEqual(['whole', ['a']]);

    const pass = (bytes: Buffer): Buffer => {
      if (bytes.includes('key')) throw new Error('the key');
      return bytes;
    };
    const guarded = start({ ...open, pass });
    const kept = reader(guarded.bytes);
    guarded.push('a');
    await turn();
    guarded.push('key');
    expect([await kept.ended, kept.seen]).toEqual(['the key', ['a']]);
  });

  it('that were held back come once, at the end', async () => {
    let held = 'held';
    const rest = (): Buffer => {
      const last = Buffer.from(held);
      held = '';
      return last;
    };
    const { bytes, push } = start({ ...open, rest });
    const { seen, ended, goOn } = reader(bytes, true);
    push('a');
    bytes.end();
    await turn();
    goOn();
    expect([await ended, seen]).toEqual(['whole', ['aheld']]);
  });
});
