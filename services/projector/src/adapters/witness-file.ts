import { open } from 'node:fs/promises';
import type { Witness } from '../app/witness';

/**
 * One line a head, appended: on a disk that the database's owner cannot write, or followed by somebody who copies it away, it tells later which history was
 * first (`fluidbox verify --witness`). In order, and never waited for; a line that could not be written is told of and comes again with the next start.
 */
export function fileWitness(file: string, onFailure: (error: unknown) => void): Witness & { readonly flushed: () => Promise<void> } {
  let writing: Promise<void> = Promise.resolve();
  return {
    name: file,
    tell: ({ stream, seq, hash, jws }) => {
      const line = `${JSON.stringify({ stream, seq, hash, jws })}\n`;
      writing = writing.then(() => appendLine(file, line)).catch(onFailure);
    },
    flushed: () => writing,
  };
}

const newline = 0x0a;
/** Longer than any line. */
const lookBackBytes = 8_192;

/** What a crash or a full disk left of a line goes first: with another line behind it, it would make a line in the middle that nobody can read. Its head is told again. */
async function appendLine(file: string, line: string): Promise<void> {
  const handle = await open(file, 'a+', 0o600);
  try {
    const { size } = await handle.stat();
    const from = Math.max(0, size - lookBackBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
    const whole = from + buffer.subarray(0, bytesRead).lastIndexOf(newline) + 1;
    if (whole < size) await handle.truncate(whole);
    await handle.appendFile(line);
  } finally {
    await handle.close();
  }
}
