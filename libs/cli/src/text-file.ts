import fs from 'node:fs';
import { exitCodes } from './exit-codes';
import { CommandFailure } from './failure';

/** A file that the caller named; `-` is standard input. One that cannot be read is a wrong call, not a fault of ours. */
export function readTextFile(file: string, namedBy: string): string {
  try {
    return fs.readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    throw new CommandFailure(`${namedBy} ${file}: ${cause instanceof Error ? cause.message : String(cause)}`, exitCodes.usage);
  }
}
