const lf = 10;
const cr = 13;

/** A line: the bytes from `from` up to `to`. `startsAt`: where in the current chunk it begins, 0 when it began in an earlier one. */
export type OnLine = (bytes: Buffer, from: number, to: number, startsAt: number) => void;
/** Asked where a line of the current chunk begins: up to where everything is known already and no line of it is wanted. Ends with a line, or answers `at`. */
export type Skip = (at: number) => number;

/**
 * Finds lines in a byte stream, whatever the chunks, the empty ones too. Line ends are LF, CR or CRLF, as server-sent events allow. What stands behind
 * the last line end is no line: an event ends with one. Nothing is cut out: for the many short lines of a stream that would cost more than all else.
 */
export class LineScanner {
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** The last chunk ended with CR: an LF that follows belongs to the same line end. */
  #afterCr = false;

  constructor(private readonly lineBytesMax: number) {}

  /** False when a line is longer than the bound: the stream cannot be read. */
  push(chunk: Buffer, onLine: OnLine, skip: Skip): boolean {
    let at = this.#afterCr && chunk[0] === lf ? 1 : 0;
    if (chunk.length > 0) this.#afterCr = false;
    let nextCr = chunk.indexOf(cr, at);
    if (nextCr === -1 && this.#pendingBytes === 0) at = skip(at);
    let nextLf = chunk.indexOf(lf, at);
    while (nextLf !== -1 || nextCr !== -1) {
      const isCr = nextCr !== -1 && (nextLf === -1 || nextCr < nextLf);
      const end = isCr ? nextCr : nextLf;
      if (this.#pendingBytes === 0) onLine(chunk, at, end, at);
      else {
        const line = this.#take(chunk.subarray(at, end));
        onLine(line, 0, line.length, at);
      }
      at = end + 1;
      if (isCr && at === chunk.length) this.#afterCr = true;
      else if (isCr && chunk[at] === lf) at += 1;
      else if (nextCr === -1) at = skip(at);
      if (nextLf !== -1 && nextLf < at) nextLf = chunk[at] === lf ? at : chunk.indexOf(lf, at);
      if (isCr) nextCr = chunk.indexOf(cr, at);
    }
    if (at < chunk.length) {
      this.#pending.push(chunk.subarray(at));
      this.#pendingBytes += chunk.length - at;
    }
    return this.#pendingBytes <= this.lineBytesMax;
  }

  #take(tail: Buffer): Buffer {
    const line = Buffer.concat([...this.#pending, tail]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }
}
