/** Bytes to look for, eight at a time: the last eight overlap those before them. Fewer than eight are looked at one by one. */
export interface Pattern {
  readonly length: number;
  readonly words: Float64Array;
  readonly bytes: Uint8Array;
}

/** Of ASCII text: no eight bytes of it are a NaN or a negative zero, so two of them are equal as numbers when they are equal as bytes. */
export function patternOf(text: string): Pattern {
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const words = Float64Array.from({ length: bytes.length < 8 ? 0 : Math.ceil(bytes.length / 8) }, (_, i) =>
    view.getFloat64(Math.min(i * 8, bytes.length - 8), true),
  );
  return { length: bytes.length, words, bytes };
}

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * Whether the pattern stands at `at`, and ends before `to`. This is asked of every event of every stream: to make a string of the bytes, or to look at
 * them one by one, would cost several times as much.
 */
export function standsAt(view: DataView, at: number, to: number, { length, words, bytes }: Pattern): boolean {
  if (to - at < length) return false;
  const last = words.length - 1;
  if (last < 0) {
    for (let i = 0; i < length; i++) if (view.getUint8(at + i) !== bytes[i]) return false;
    return true;
  }
  for (let i = 0; i < last; i++) if (view.getFloat64(at + i * 8, true) !== words[i]) return false;
  return view.getFloat64(at + length - 8, true) === words[last];
}
