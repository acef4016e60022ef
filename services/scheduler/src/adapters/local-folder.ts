import fs from 'node:fs';
import path from 'node:path';
import { isBelow } from '../domain/workspace-source';

/** Says that a folder is missing only where it would be allowed: what lies outside is not told apart by whether it exists. */
export function refuseMissing(folder: string, roots: readonly string[]): void {
  if (fs.existsSync(folder)) return;
  const parent = nearestExisting(path.resolve(folder));
  if (isBelow(path.resolve(fs.realpathSync(parent), path.relative(parent, path.resolve(folder))), roots))
    throw new Error(`${folder}: there is no such folder`);
}

/** The roots are real paths, so the part of the folder that exists must be one, too. */
function nearestExisting(folder: string): string {
  return fs.existsSync(folder) ? folder : nearestExisting(path.dirname(folder));
}
