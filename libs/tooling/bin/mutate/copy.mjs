import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../setup/layout.mjs';

const prefix = 'fbx-mutate-';
/** Everything that a test reads; packages are linked, they are not ours to change. */
const left = new Set(['node_modules', '.git', '.fluidbox', '.cache']);

export function copyClone() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), `${prefix}${process.pid}-`));
  for (const name of fs.readdirSync(root)) {
    if (!left.has(name)) fs.cpSync(path.join(root, name), path.join(dir, name), { recursive: true, verbatimSymlinks: true });
  }
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(dir, 'node_modules'));
  return { dir, remove: () => fs.rmSync(dir, { recursive: true, force: true, maxRetries: 5 }) };
}

const lives = (pid) => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** After a kill -9 nobody was left to remove the copy. */
export function removeAbandonedCopies() {
  for (const name of fs.readdirSync(os.tmpdir())) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length).split('-')[0]) : undefined;
    if (pid !== undefined && !lives(pid)) fs.rmSync(path.join(os.tmpdir(), name), { recursive: true, force: true });
  }
}
