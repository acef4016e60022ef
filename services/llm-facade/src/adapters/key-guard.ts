/** A shorter key would be found in ordinary text; no provider gives one out. */
const keyBytesMin = 12;
const mark = '[provider key]';
const none: Buffer = Buffer.alloc(0);

/** Sees the bytes of one answer in order. */
export interface ByteFilter {
  /** What may go on now. Throws when nothing more may. */
  pass(bytes: Buffer): Buffer;
  /** What was held back, when nothing follows. */
  rest(): Buffer;
}

/** Keeps the provider's key out of what comes back: an upstream may echo the headers it got, in an error above all. */
export interface KeyGuard {
  clean(text: string): string;
  /** For an answer that nobody waits for piece by piece: the key is replaced. */
  cleaning(): ByteFilter;
  /** For a stream, which passes unchanged and at once: at the key it ends. */
  watching(): ByteFilter;
}

export function keyGuard(key: string): KeyGuard {
  if (key.length < keyBytesMin) return { clean: (text) => text, cleaning: () => open, watching: () => open };
  const needle = Buffer.from(key, 'latin1');
  return { clean: (text) => text.replaceAll(key, mark), cleaning: () => replaceIn(needle), watching: () => endAt(needle) };
}

const open: ByteFilter = { pass: (bytes) => bytes, rest: () => none };

function replaceIn(needle: Buffer): ByteFilter {
  let held: Buffer = none;
  return {
    pass(chunk) {
      let bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      if (bytes.includes(needle)) bytes = Buffer.from(bytes.toString('latin1').replaceAll(needle.toString('latin1'), mark), 'latin1');
      // The key may be cut in two by the pieces.
      const passed = Math.max(0, bytes.length - needle.length + 1);
      held = bytes.subarray(passed);
      return bytes.subarray(0, passed);
    },
    rest() {
      const rest = held;
      held = none;
      return rest;
    },
  };
}

function endAt(needle: Buffer): ByteFilter {
  const tailBytes = needle.length - 1;
  let tail: Buffer = none;
  return {
    pass(chunk) {
      const seam = Buffer.concat([tail, chunk.subarray(0, tailBytes)]);
      if (seam.includes(needle) || chunk.includes(needle))
        throw new Error('the model provider echoed the key of this deployment in a stream');
      tail = chunk.length >= tailBytes ? chunk.subarray(chunk.length - tailBytes) : seam.subarray(Math.max(0, seam.length - tailBytes));
      return chunk;
    },
    rest: () => none,
  };
}
