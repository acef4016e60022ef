import { randomFillSync } from 'node:crypto';

const drawnAtOnce = 256;

/** Random bytes of one size, each handed out once and then the caller's own. Asking the system for each costs as much as sealing a tool input does. */
export class RandomPool {
  #pool = Buffer.alloc(0);
  #at = 0;

  constructor(private readonly bytes: number) {}

  next(): Buffer {
    if (this.#at === this.#pool.length) {
      // A new buffer: who still holds a value of the old one keeps it.
      this.#pool = randomFillSync(Buffer.allocUnsafeSlow(this.bytes * drawnAtOnce));
      this.#at = 0;
    }
    this.#at += this.bytes;
    return this.#pool.subarray(this.#at - this.bytes, this.#at);
  }
}
