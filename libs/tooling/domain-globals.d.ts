// The one thing pure code uses beyond the language itself: turning text into its UTF-8 bytes has no clock, no randomness and no I/O.
declare class TextEncoder {
  encode(text?: string): Uint8Array<ArrayBuffer>;
}
