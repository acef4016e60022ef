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

/** Of one deployment or organisation there are a few; each is kept out. */
export function keyGuard(given: readonly string[]): KeyGuard {
  // The longest first: one that begins like another must not leave its rest behind.
  const keys = [...new Set(given)].filter((key) => key.length >= keyBytesMin).sort((a, b) => b.length - a.length);
  if (keys.length === 0) return { clean: (text) => text, cleaning: () => open, watching: () => open };
  const needles = keys.map((key) => Buffer.from(key, 'latin1'));
  const clean = (text: string): string => keys.reduce((rest, key) => rest.replaceAll(key, mark), text);
  return { clean, cleaning: () => replaceIn(needles, clean), watching: () => endAt(needles) };
}

const open: ByteFilter = { pass: (bytes) => bytes, rest: () => none };
/** What of a key may stand before the seam of two pieces. */
const tailBytesOf = (needles: readonly Buffer[]): number => Math.max(...needles.map(({ length }) => length)) - 1;

function replaceIn(needles: readonly Buffer[], clean: (text: string) => string): ByteFilter {
  const tailBytes = tailBytesOf(needles);
  let held: Buffer = none;
  return {
    pass(chunk) {
      let bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      if (needles.some((needle) => bytes.includes(needle))) bytes = Buffer.from(clean(bytes.toString('latin1')), 'latin1');
      // The key may be cut in two by the pieces.
      const passed = Math.max(0, bytes.length - tailBytes);
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

function endAt(needles: readonly Buffer[]): ByteFilter {
  const tailBytes = tailBytesOf(needles);
  let tail: Buffer = none;
  return {
    pass(chunk) {
      const seam = Buffer.concat([tail, chunk.subarray(0, tailBytes)]);
      for (const needle of needles)
        if (seam.includes(needle) || chunk.includes(needle)) throw new Error('the model provider echoed its key in a stream');
      tail = chunk.length >= tailBytes ? chunk.subarray(chunk.length - tailBytes) : seam.subarray(Math.max(0, seam.length - tailBytes));
      return chunk;
    },
    rest: () => none,
  };
}
