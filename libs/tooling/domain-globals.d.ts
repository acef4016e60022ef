// What pure code may use beyond the language itself: bytes, their text, and the parts of an address. None of it has a clock, randomness or I/O.
// Declared by hand, so that nothing else of Node comes along.
declare class TextEncoder {
  encode(text?: string): Uint8Array<ArrayBuffer>;
}
interface Buffer extends Uint8Array<ArrayBuffer> {
  toString(encoding?: 'utf8' | 'hex' | 'base64' | 'latin1', start?: number, end?: number): string;
  subarray(start?: number, end?: number): Buffer;
  indexOf(value: number | string | Uint8Array, from?: number): number;
  lastIndexOf(value: number | string | Uint8Array, from?: number): number;
  equals(other: Uint8Array): boolean;
}
declare const Buffer: {
  from(text: string, encoding?: 'utf8' | 'hex' | 'base64' | 'latin1'): Buffer;
  alloc(bytes: number): Buffer;
  byteLength(text: string): number;
  concat(parts: readonly Uint8Array[]): Buffer;
};
declare class URL {
  constructor(text: string, base?: string);
  readonly protocol: string;
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly username: string;
  readonly password: string;
  readonly pathname: string;
  readonly search: string;
  readonly hash: string;
  readonly href: string;
}
