import fs from 'node:fs';
import { exitCodes } from './exit-codes';
import { CommandFailure } from './failure';

// Files that the caller named: one that cannot be read or written is a wrong call, not a fault of ours. `-` is standard input.

/** `namedBy`: the option or argument, so that the message says which word to change. */
export const readNamedText = (file: string, namedBy: string): string => readNamedBytes(file, namedBy).toString('utf8');

export function readNamedBytes(file: string, namedBy: string): Buffer {
  try {
    return fs.readFileSync(file === '-' ? 0 : file);
  } catch (cause) {
    throw unusable(file, namedBy, cause, 'no such file');
  }
}

export function writeNamedFile(file: string, namedBy: string, content: string | Buffer): void {
  try {
    fs.writeFileSync(file, content);
  } catch (cause) {
    throw unusable(file, namedBy, cause, 'no such folder');
  }
}

/** `absent`: what it means here that the path leads nowhere. */
export function unusable(file: string, namedBy: string, cause: unknown, absent: string): CommandFailure {
  const { code, message } = cause as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: absent,
    ENOTDIR: absent,
    EISDIR: 'is a folder',
    EACCES: 'you may not use it',
    ENOSPC: 'no space left',
  };
  return new CommandFailure(`${namedBy} ${file}: ${reasons[code ?? ''] ?? message}`, exitCodes.usage);
}
