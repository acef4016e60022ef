export const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

/** Whether `expected` stands at `at`, and ends before `to`. A loop over bytes is several times as fast here as making a string of them. */
export function standsAt(bytes: Uint8Array, at: number, to: number, expected: Uint8Array): boolean {
  if (to - at < expected.length) return false;
  for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false;
  return true;
}
