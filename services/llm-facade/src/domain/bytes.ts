/** Bytes to look for, four at a time where there are four. */
export interface Pattern {
  readonly length: number;
  readonly words: Int32Array;
  readonly rest: Uint8Array;
}

/** Of ASCII text. */
export function patternOf(text: string): Pattern {
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const words = Int32Array.from({ length: bytes.length >> 2 }, (_, i) => view.getInt32(i * 4, true));
  return { length: bytes.length, words, rest: bytes.subarray(words.length * 4) };
}

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * Whether the pattern stands at `at`, and ends before `to`. This is asked of every event of every stream: to make a string of the bytes, or to look at
 * them one by one, would cost several times as much.
 */
export function standsAt(view: DataView, at: number, to: number, { length, words, rest }: Pattern): boolean {
  if (to - at < length) return false;
  for (let i = 0; i < words.length; i++) if (view.getInt32(at + i * 4, true) !== words[i]) return false;
  for (let i = 0, from = at + words.length * 4; i < rest.length; i++) if (view.getUint8(from + i) !== rest[i]) return false;
  return true;
}
