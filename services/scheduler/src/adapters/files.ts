import fs from 'node:fs';
import path from 'node:path';
import type { z } from 'zod';

/** Replaces a file in one step, durably: a reader sees the old or the new text, also after a crash. */
export function writeFileAtomically(file: string, text: string, mode = 0o600): void {
  const draft = `${file}.${process.pid}.draft`;
  const fd = fs.openSync(draft, 'w', mode);
  try {
    fs.writeFileSync(fd, text);
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  fs.renameSync(draft, file);
}

/** The parsed file, or null when it is not there (yet) or not as agreed. */
export function readJsonFile<T>(file: string, schema: z.ZodType<T>): T | null {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw error;
  }
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

export const isErrno = (error: unknown, ...codes: string[]): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && codes.includes(String(error.code));

/** The files of one run on this host. */
export const runFiles = (runDir: string) => ({
  run: path.join(runDir, 'run.json'),
  door: path.join(runDir, 'door'),
  workspace: path.join(runDir, 'workspace'),
  base: path.join(runDir, 'base.git'),
  manifest: path.join(runDir, 'base.json'),
  source: path.join(runDir, 'source.git'),
  prepared: path.join(runDir, 'workspace.json'),
  supervisor: path.join(runDir, 'supervisor.json'),
  supervisorLog: path.join(runDir, 'supervisor.log'),
  lease: path.join(runDir, 'lease.json'),
  started: path.join(runDir, 'started.json'),
  exit: path.join(runDir, 'exit.json'),
});
