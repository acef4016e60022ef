import type { Readable } from 'node:stream';

/** The last bytes of what a sandbox printed. It is drained all the time: a full pipe would stop the runner. */
export class Tail {
  #bytes = Buffer.alloc(0);

  constructor(private readonly bytesMax: number) {}

  drain(stream: Readable | null): void {
    stream?.on('data', (chunk: Buffer) => {
      const joined = Buffer.concat([this.#bytes, chunk]);
      this.#bytes = joined.subarray(Math.max(0, joined.length - this.bytesMax));
    });
    stream?.on('error', () => stream.destroy());
  }

  text(): string {
    return this.#bytes.toString('utf8').replaceAll('\0', '\u2400');
  }
}
