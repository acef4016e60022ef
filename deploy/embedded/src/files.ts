import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** Replaces a file in one step: a reader sees the old or the new content, also after a crash. Mode 0600 unless told otherwise. */
export function writeFileAtomically(file: string, content: string | Buffer, mode = 0o600): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const handle = fs.openSync(draft, 'wx', mode);
  try {
    fs.writeFileSync(handle, content);
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
  fs.renameSync(draft, file);
  syncFolder(path.dirname(file));
}

/** Makes a rename in this folder survive a power cut. */
export function syncFolder(dir: string): void {
  const handle = fs.openSync(dir, 'r');
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

export function makePrivateFolder(dir: string): void {
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
}

export function readIfPresent(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The parsed content, or undefined when the file is missing or was cut off. */
export function readJsonIfPresent(file: string): unknown {
  const text = readIfPresent(file);
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
