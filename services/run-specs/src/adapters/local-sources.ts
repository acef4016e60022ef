import fs from 'node:fs';
import { isBelow } from '../domain/local-source';

/**
 * Whether the scheduler may read the folder, as far as it can be told here. A root or a folder that is reached through a link counts by both of
 * its names, so that nothing is refused which the scheduler would take; what a link leads out to is refused there.
 */
export const allowsSourceIn =
  (roots: readonly string[]) =>
  (folder: string): boolean => {
    const names = [...roots, ...roots.flatMap(realPath)];
    return isBelow(folder, names) || realPath(folder).some((real) => isBelow(real, names));
  };

const realPath = (folder: string): string[] => {
  try {
    return [fs.realpathSync(folder)];
  } catch {
    // Nothing is there, or it is not ours to see: then its written name is all there is.
    return [];
  }
};
