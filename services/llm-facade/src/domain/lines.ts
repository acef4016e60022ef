const lf = 10;
const cr = 13;

/**
 * Cuts a byte stream into lines, whatever the chunks. Line ends are LF, CR or CRLF, as server-sent events allow; empty lines are left out,
 * so CRLF needs no state. What stands behind the last line end is no line: an event ends with one. `onLine` gets each line and where in the current chunk it begins (0 when it began in an earlier one).
 */
export class LineScanner {
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(private readonly lineBytesMax: number) {}

  /** False when a line is longer than the bound: the stream cannot be read. */
  push(chunk: Buffer, onLine: (line: Buffer, startsAt: number) => void): boolean {
    let at = 0;
    let nextLf = chunk.indexOf(lf);
    let nextCr = chunk.indexOf(cr);
    while (nextLf !== -1 || nextCr !== -1) {
      const end = nextLf === -1 ? nextCr : nextCr === -1 ? nextLf : Math.min(nextLf, nextCr);
      const line = this.#take(chunk.subarray(at, end));
      if (line.length > 0) onLine(line, at);
      at = end + 1;
      if (nextLf === end) nextLf = chunk.indexOf(lf, at);
      else nextCr = chunk.indexOf(cr, at);
    }
    if (at < chunk.length) {
      this.#pending.push(chunk.subarray(at));
      this.#pendingBytes += chunk.length - at;
    }
    return this.#pendingBytes <= this.lineBytesMax;
  }

  #take(tail: Buffer): Buffer {
    if (this.#pendingBytes === 0) return tail;
    const line = Buffer.concat([...this.#pending, tail]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }
}
