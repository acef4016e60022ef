// Where things of one clone live, and how progress is told: on stderr, so that stdout stays the result of the command.

import fs from 'node:fs';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../../../..');
/** Programs and caches belong to the clone; FLUIDBOX_HOME moves only the data. */
export const toolsDir = path.join(root, '.fluidbox/tools');
export const binDir = path.join(toolsDir, 'bin');

export const say = (text) => process.stderr.write(`fluidbox: ${text}\n`);

/** An expected failure: its message is for the person, with the fix; no stack is shown. */
export class SetupFailure extends Error {}

export const readJson = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
export const readText = (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined);

export function findOnPath(name, searchPath = process.env.PATH ?? '') {
  for (const dir of searchPath.split(path.delimiter)) {
    if (dir === '') continue;
    const file = path.join(dir, name);
    try {
      fs.accessSync(file, fs.constants.X_OK);
      if (fs.statSync(file).isFile()) return file;
    } catch {
      // Not in this folder; the next one may have it.
    }
  }
  return undefined;
}
