import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { type BytePath, type ManifestEntry, manifestText } from '../../domain/tree';
import { bytesOfPath } from '../workspace/byte-path';
import type { TreeItem } from '../workspace/walk-tree';
import { type GitOptions, runGit } from './git-runner';

/**
 * The pristine base of a workspace: a bare repository outside the sandbox that only ever sees bytes we read ourselves. No work tree, no
 * index, no checkout: nothing that an agent wrote (ignore rules, attributes, configuration, hooks) is ever a setting of this git.
 */
export interface BaseRepository {
  readonly gitDir: string;
  readonly uid: number | null;
}

const baseRef = 'refs/fluidbox/base';
const finalRef = 'refs/fluidbox/final';
/** Fixed, so that the same files give the same commit. */
const committer = 'fluidbox <base@fluidbox.invalid> 946684800 +0000';

export const gitOptions = (base: BaseRepository): GitOptions => ({ gitDir: base.gitDir, uid: base.uid });

/** An empty bare repository whose HEAD names nothing, so that no attributes are ever read from a commit. */
export function makeBareRepository(gitDir: string, uid: number | null): BaseRepository {
  fs.rmSync(gitDir, { recursive: true, force: true });
  for (const folder of ['objects/pack', 'objects/info', 'refs']) fs.mkdirSync(path.join(gitDir, folder), { recursive: true, mode: 0o700 });
  fs.writeFileSync(path.join(gitDir, 'HEAD'), 'ref: refs/fluidbox/none\n');
  fs.writeFileSync(path.join(gitDir, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n');
  if (uid !== null) giveAway(gitDir, uid);
  return { gitDir, uid };
}

/** Hands a folder that only we have written to the run's uid. */
export function giveAway(folder: string, uid: number): void {
  fs.lchownSync(folder, uid, uid);
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const below = path.join(folder, entry.name);
    if (entry.isDirectory()) giveAway(below, uid);
    else fs.lchownSync(below, uid, uid);
  }
}

/** Stores a tree as the base; answers its manifest. `seen` is called for each item on the way, so that one walk serves all. */
export async function storeBase(
  base: BaseRepository,
  items: AsyncIterable<TreeItem>,
): Promise<{ entries: ManifestEntry[]; commit: string }> {
  const entries: ManifestEntry[] = [];
  await runGit(['fast-import', '--quiet', '--date-format=raw', '--depth=0', '--done'], {
    ...gitOptions(base),
    input: importBase(items, entries),
    timeoutMs: 600_000,
  });
  return { entries, commit: await resolve(base, baseRef) };
}

async function* importBase(items: AsyncIterable<TreeItem>, entries: ManifestEntry[]): AsyncGenerator<Buffer> {
  yield Buffer.from(`commit ${baseRef}\ncommitter ${committer}\n${data('Base of the run\n')}`);
  for await (const item of items) {
    if (item.kind === 'skipped') continue;
    entries.push(manifestEntry(item));
    yield* modify(item);
  }
  yield Buffer.from('\ndone\n');
}

export interface OmittedFile {
  readonly path: BytePath;
  readonly reason: string;
}
export interface FinalTree {
  readonly commit: string;
  /** Files of the workspace whose content is not in the tree, because it could not be read within the limits. */
  readonly omitted: readonly OmittedFile[];
}

/** Stores the workspace as the agent left it on top of the base: only what differs by our own digests. */
export async function storeFinal(
  base: BaseRepository,
  baseEntries: readonly ManifestEntry[],
  items: AsyncIterable<TreeItem>,
): Promise<FinalTree> {
  const omitted: OmittedFile[] = [];
  await runGit(['fast-import', '--quiet', '--date-format=raw', '--depth=0', '--done', '--force'], {
    ...gitOptions(base),
    input: importFinal(new Map(baseEntries.map((entry) => [entry.path, entry])), items, omitted),
    timeoutMs: 600_000,
  });
  return { commit: await resolve(base, finalRef), omitted };
}

async function* importFinal(
  before: Map<BytePath, ManifestEntry>,
  items: AsyncIterable<TreeItem>,
  omitted: OmittedFile[],
): AsyncGenerator<Buffer> {
  let complete = true;
  const kept = new Set<BytePath>();
  const folders = new Set<BytePath>();
  yield Buffer.from(`commit ${finalRef}\ncommitter ${committer}\n${data('The workspace after the run\n')}from ${baseRef}\n`);
  for await (const item of items) {
    if (item.kind === 'skipped') {
      if (item.reason !== 'git_folder') omitted.push({ path: item.path, reason: item.reason });
      // A file that became unreadable by its size is not deleted: it stays as it was, and is named.
      if (item.reason === 'too_large') kept.add(item.path);
      if (item.reason === 'too_many' || item.reason === 'too_deep') complete = false;
      continue;
    }
    kept.add(item.path);
    for (let at = item.path.lastIndexOf('/'); at > 0 && !folders.has(item.path.slice(0, at)); at = item.path.lastIndexOf('/', at - 1))
      folders.add(item.path.slice(0, at));
    const after = manifestEntry(item);
    const old = before.get(item.path);
    if (old === undefined || old.sha256 !== after.sha256 || old.mode !== after.mode) yield* modify(item);
  }
  // After a walk that gave up, what was not seen is not known to be gone. A file that became a folder is replaced already.
  if (complete)
    for (const path of before.keys())
      if (!kept.has(path) && !folders.has(path)) yield Buffer.concat([Buffer.from('D '), quoted(path), Buffer.from('\n')]);
  yield Buffer.from('\ndone\n');
}

function* modify(item: Exclude<TreeItem, { kind: 'skipped' }>): Generator<Buffer> {
  const { mode } = manifestEntry(item);
  const content = item.kind === 'link' ? bytesOfPath(item.target) : item.content;
  yield Buffer.concat([Buffer.from(`M ${mode} inline `), quoted(item.path), Buffer.from(`\ndata ${content.length}\n`)]);
  yield content;
  yield Buffer.from('\n');
}

function manifestEntry(item: Exclude<TreeItem, { kind: 'skipped' }>): ManifestEntry {
  const content = item.kind === 'link' ? bytesOfPath(item.target) : item.content;
  const mode = item.kind === 'link' ? '120000' : item.executable ? '100755' : '100644';
  return { path: item.path, mode, sha256: createHash('sha256').update(content).digest('hex'), size: content.length };
}

const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}`;

/** A path as fast-import reads it whatever bytes it holds. */
function quoted(path: BytePath): Buffer {
  const escaped = [...bytesOfPath(path)].map((byte) =>
    byte === 0x22 || byte === 0x5c || byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, '0')}` : String.fromCharCode(byte),
  );
  return Buffer.from(`"${escaped.join('')}"`);
}

async function resolve(base: BaseRepository, ref: string): Promise<string> {
  const { stdout } = await runGit(['rev-parse', '--verify', '--end-of-options', ref], gitOptions(base));
  return stdout.toString('utf8').trim();
}

export const baseDigest = (entries: readonly ManifestEntry[]): string =>
  `sha256:${createHash('sha256').update(manifestText(entries)).digest('hex')}`;
export const diffEnds = { base: baseRef, final: finalRef } as const;
