import type { EventEmitter } from 'node:events';
import { exitCodes } from './exit-codes';
import { say } from './output';

/**
 * `fluidbox watch … | head`: once nobody reads, the command ends without a word. Whoever listens for Ctrl-C (a stack of our own, a watcher) ends it
 * as after one; else it ends with the code that shells give to a program that wrote into a closed pipe.
 */
export function leaveWhenNobodyReads(
  output: EventEmitter,
  process: { emit(signal: 'SIGINT', name: 'SIGINT'): boolean; exit(code: number): void },
): void {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      say(`cannot write what was asked for: ${error.message}`);
      process.exit(exitCodes.run_failed);
      return;
    }
    if (!process.emit('SIGINT', 'SIGINT')) process.exit(exitCodes.closed_pipe);
  });
}
