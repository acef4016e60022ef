/** A shorter key would be found in ordinary text; no provider gives one out. */
const keyBytesMin = 12;
const mark = '[provider key]';

/** Keeps the provider's key out of what comes back: an upstream may echo the headers it got, in an error above all. */
export interface KeyGuard {
  clean(text: string): string;
  /** Bytes of an answer that nobody waits for piece by piece: the key is replaced. */
  cleaned(body: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
  /** Bytes of a stream, which pass unchanged and at once: at the key it ends. */
  watched(body: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
}

export function keyGuard(key: string): KeyGuard {
  if (key.length < keyBytesMin) return { clean: (text) => text, cleaned: (body) => body, watched: (body) => body };
  const needle = Buffer.from(key, 'latin1');
  return {
    clean: (text) => text.replaceAll(key, mark),
    cleaned: (body) => replaceIn(body, needle),
    watched: (body) => endAt(body, needle),
  };
}

async function* replaceIn(body: AsyncIterable<Buffer>, needle: Buffer): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    let bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    if (bytes.includes(needle)) bytes = Buffer.from(bytes.toString('latin1').replaceAll(needle.toString('latin1'), mark), 'latin1');
    // The key may be cut in two by the chunks.
    const passed = Math.max(0, bytes.length - needle.length + 1);
    held = bytes.subarray(passed);
    if (passed > 0) yield bytes.subarray(0, passed);
  }
  if (held.length > 0) yield held;
}

async function* endAt(body: AsyncIterable<Buffer>, needle: Buffer): AsyncGenerator<Buffer> {
  const tailBytes = needle.length - 1;
  let tail: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    const seam = Buffer.concat([tail, chunk.subarray(0, tailBytes)]);
    if (seam.includes(needle) || chunk.includes(needle))
      throw new Error('the model provider echoed the key of this deployment in a stream');
    tail = chunk.length >= tailBytes ? chunk.subarray(chunk.length - tailBytes) : seam.subarray(Math.max(0, seam.length - tailBytes));
    yield chunk;
  }
}
