import type { BytePath } from '../../domain/tree';
import { pathOfBytes } from '../workspace/byte-path';
import type { TreeItem } from '../workspace/walk-tree';
import type { FetchedCommit } from './fetch-commit';
import { runGit } from './git-runner';

interface Blob {
  readonly mode: string;
  readonly sha: string;
  readonly path: BytePath;
}

const batchBytes = 32 * 1024 * 1024;

/**
 * The files of a commit as they are stored: no attribute or filter of the repository changes a byte on the way. Submodules are skipped.
 * Blobs are read in batches of bounded size.
 */
export async function* readCommit({ options, commit }: FetchedCommit, fileBytesMax: number): AsyncGenerator<TreeItem> {
  const { stdout } = await runGit(['ls-tree', '-r', '-z', '-l', '--full-tree', '--end-of-options', commit], options);
  let batch: Blob[] = [];
  let bytes = 0;
  for (const line of stdout.toString('latin1').split('\0')) {
    const match = /^(\d{6}) (\w+) ([0-9a-f]{40}) +(-|\d+)\t([\s\S]+)$/.exec(line);
    if (match === null) continue;
    const [, mode = '', type = '', sha = '', size = '', path = ''] = match;
    if (type !== 'blob') yield { kind: 'skipped', path, reason: 'special_file', size: 0 };
    else if (Number(size) > fileBytesMax) yield { kind: 'skipped', path, reason: 'too_large', size: Number(size) };
    else {
      batch.push({ mode, sha, path });
      bytes += Number(size);
      if (bytes < batchBytes) continue;
      yield* readBlobs(batch, { options, commit }, bytes);
      batch = [];
      bytes = 0;
    }
  }
  if (batch.length > 0) yield* readBlobs(batch, { options, commit }, bytes);
}

async function* readBlobs(blobs: readonly Blob[], { options }: FetchedCommit, bytes: number): AsyncGenerator<TreeItem> {
  const input = [Buffer.from(blobs.map(({ sha }) => `${sha}\n`).join(''))];
  const { stdout } = await runGit(['cat-file', '--batch=%(objectsize)'], {
    ...options,
    input,
    outputBytesMax: bytes + blobs.length * 64 + 1024,
  });
  let at = 0;
  for (const { mode, path } of blobs) {
    const lineEnd = stdout.indexOf(0x0a, at);
    const size = Number(stdout.subarray(at, lineEnd).toString('latin1'));
    if (lineEnd === -1 || !Number.isInteger(size)) throw new Error('git cat-file gave an answer that cannot be read');
    const content = stdout.subarray(lineEnd + 1, lineEnd + 1 + size);
    at = lineEnd + 1 + size + 1;
    if (mode === '120000') yield { kind: 'link', path, target: pathOfBytes(content) };
    else yield { kind: 'file', path, executable: mode === '100755', content };
  }
}
