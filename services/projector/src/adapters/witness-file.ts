import { appendFile } from 'node:fs/promises';
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
      writing = writing.then(() => appendFile(file, line, { mode: 0o600 })).catch(onFailure);
    },
    flushed: () => writing,
  };
}
