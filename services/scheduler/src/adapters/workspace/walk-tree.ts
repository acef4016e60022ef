import fs from 'node:fs';
import { type BytePath, isGitFolder, type TreeLimits } from '../../domain/tree';
import { breather } from './breathe';
import { pathOfBytes } from './byte-path';
import { RootedFolder } from './rooted-folder';

type SkipReason = 'special_file' | 'git_folder' | 'too_deep' | 'too_large' | 'too_many';

export type TreeItem =
  | { readonly kind: 'file'; readonly path: BytePath; readonly executable: boolean; readonly content: Buffer }
  | { readonly kind: 'link'; readonly path: BytePath; readonly target: BytePath }
  | { readonly kind: 'skipped'; readonly path: BytePath; readonly reason: SkipReason; readonly size: number };

const depthMax = 128;

/**
 * Everything below a folder, in one fixed order. No link is followed, `.git` folders are left out, special files are named and not
 * opened. What goes over a limit is yielded as skipped: the caller decides whether that is an error.
 */
export async function* walkTree(root: string, limits: TreeLimits): AsyncGenerator<TreeItem> {
  const folder = RootedFolder.open(root);
  const count = { files: 0, bytes: 0 };
  try {
    const breathe = breather();
    for (const item of walkFolder(folder, '', 0, limits, count)) {
      yield item;
      await breathe();
    }
  } finally {
    folder.close();
  }
}

type Count = { files: number; bytes: number };

function* walkFolder(folder: RootedFolder, prefix: BytePath, depth: number, limits: TreeLimits, count: Count): Generator<TreeItem> {
  for (const name of folder.names()) {
    const path = `${prefix}${name}`;
    const stat = folder.stat(name);
    if (stat === null) continue;
    const skipped = (reason: SkipReason): TreeItem => ({ kind: 'skipped', path, reason, size: stat.size });
    if (isGitFolder(name)) {
      yield skipped('git_folder');
      continue;
    }
    if (stat.isDirectory()) {
      if (depth >= depthMax) {
        yield skipped('too_deep');
        continue;
      }
      const below = folder.folder(name);
      try {
        yield* walkFolder(below, `${path}/`, depth + 1, limits, count);
      } finally {
        below.close();
      }
      continue;
    }
    count.files += 1;
    if (count.files > limits.filesMax) {
      yield skipped('too_many');
      return;
    }
    if (stat.isSymbolicLink()) yield { kind: 'link', path, target: pathOfBytes(folder.linkTarget(name)) };
    else if (!stat.isFile()) yield skipped('special_file');
    else if (stat.size > limits.fileBytesMax || count.bytes + stat.size > limits.bytesMax) yield skipped('too_large');
    else {
      count.bytes += stat.size;
      yield { kind: 'file', path, executable: (stat.mode & 0o100) !== 0, content: readWhole(folder, name) };
    }
  }
}

function readWhole(folder: RootedFolder, name: BytePath): Buffer {
  const fd = folder.openFile(name);
  try {
    return fs.readFileSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
