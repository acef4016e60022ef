import fs from 'node:fs';
import type { WorkspaceInput } from '@fluidbox/contracts';
import type { ManifestEntry, TreeLimits } from '../../domain/tree';
import { isBelow } from '../../domain/workspace-source';
import { runFiles, writeFileAtomically } from '../files';
import { giveAgentRepository } from '../git/agent-repository';
import { baseDigest, makeBareRepository, storeBase } from '../git/base-repository';
import { type FetchSettings, fetchCommit } from '../git/fetch-commit';
import { readCommit } from '../git/read-commit';
import { refuseMissing } from '../local-folder';
import { breather } from './breathe';
import { displayPath, isUtf8Path } from './byte-path';
import { TreeWriter } from './tree-writer';
import { type TreeItem, walkTree } from './walk-tree';

export interface WorkspaceSettings extends FetchSettings {
  readonly limits: TreeLimits;
}
export interface PreparedWorkspace {
  readonly kind: WorkspaceInput['kind'];
  readonly baseDigest: string;
  readonly files: number;
  readonly bytes: number;
  /** Special files, links that lead outside, submodules, names that are no UTF-8. */
  readonly skipped: number;
  readonly commit?: string;
}

/**
 * Fills the run's workspace from its source and stores the pristine base beside it, before any sandbox exists. Begins anew when it is called
 * again after a crash. Throws with the reason a person can act on, and soon after `signal` is aborted.
 */
export async function prepareWorkspace(
  input: WorkspaceInput,
  runDir: string,
  uid: number | null,
  settings: WorkspaceSettings,
  signal?: AbortSignal,
): Promise<PreparedWorkspace> {
  const files = runFiles(runDir);
  for (const leftover of [files.workspace, files.manifest, files.source]) fs.rmSync(leftover, { recursive: true, force: true });
  fs.mkdirSync(files.workspace, { recursive: true, mode: 0o755 });
  if (uid !== null) fs.chownSync(files.workspace, uid, uid);
  const { items, commit } = await openSource(input, files.source, uid, settings, signal);
  const filled = await fill(files.workspace, items, settings.limits, uid, signal);
  fs.rmSync(files.source, { recursive: true, force: true });
  const base = makeBareRepository(files.base, uid);
  const { entries, commit: baseCommit } = await storeBase(base, walkTree(files.workspace, settings.limits));
  await giveAgentRepository(base, baseCommit, files.workspace);
  writeFileAtomically(files.manifest, JSON.stringify(entries satisfies ManifestEntry[]));
  return {
    kind: input.kind,
    baseDigest: baseDigest(entries),
    files: filled.files,
    bytes: filled.bytes,
    skipped: filled.skipped,
    ...(commit === undefined ? {} : { commit }),
  };
}

async function openSource(
  input: WorkspaceInput,
  sourceDir: string,
  uid: number | null,
  settings: WorkspaceSettings,
  signal: AbortSignal | undefined,
): Promise<{ items: AsyncIterable<TreeItem>; commit?: string }> {
  switch (input.kind) {
    case 'scratch':
      return { items: nothing() };
    case 'local_copy':
      return { items: walkTree(allowedFolder(input.path, settings.localSources), settings.limits) };
    case 'git_repository': {
      const fetched = await fetchCommit(input, sourceDir, uid, settings, signal);
      return { items: readCommit(fetched, settings.limits.fileBytesMax), commit: fetched.commit };
    }
  }
}

async function* nothing(): AsyncGenerator<TreeItem> {
  // A scratch workspace begins empty.
}

function allowedFolder(folder: string, roots: readonly string[]): string {
  refuseMissing(folder, roots);
  const real = fs.existsSync(folder) ? fs.realpathSync(folder) : null;
  if (real === null || !isBelow(real, roots))
    throw new Error(`${folder} is not below a folder that FLUIDBOX_LOCAL_SOURCES allows: add its folder there`);
  if (!fs.statSync(real).isDirectory()) throw new Error(`${folder} is no folder`);
  return real;
}

async function fill(
  workspace: string,
  items: AsyncIterable<TreeItem>,
  limits: TreeLimits,
  uid: number | null,
  signal: AbortSignal | undefined,
): Promise<{ files: number; bytes: number; skipped: number }> {
  const writer = new TreeWriter(workspace, limits, uid);
  let skipped = 0;
  try {
    const breathe = breather();
    for await (const item of items) {
      signal?.throwIfAborted();
      await breathe();
      if (item.kind === 'skipped') {
        refuseOverLimit(item, limits);
        skipped += item.reason === 'git_folder' ? 0 : 1;
      } else if (!isUtf8Path(item.path)) skipped += 1;
      else if (item.kind === 'link') writer.link(item.path, item.target);
      else writer.file(item.path, item.executable, item.content);
    }
    skipped += writer.removeLeavingLinks();
    return { files: writer.files, bytes: writer.bytes, skipped };
  } finally {
    writer.close();
  }
}

/** Half a workspace would mislead the agent and the diff: what is too much is an error, not left out. */
function refuseOverLimit(item: Extract<TreeItem, { kind: 'skipped' }>, limits: TreeLimits): void {
  const name = JSON.stringify(displayPath(item.path));
  if (item.reason === 'too_large')
    throw new Error(`${name} has ${item.size} bytes: a file may have ${limits.fileBytesMax}, a workspace ${limits.bytesMax}`);
  if (item.reason === 'too_many') throw new Error(`the source has more than ${limits.filesMax} files`);
  if (item.reason === 'too_deep') throw new Error(`${name} lies too deep`);
}
