import { cutAtFile, parseNumstat } from '../../domain/cut-diff';
import type { ManifestEntry, TreeLimits } from '../../domain/tree';
import { displayPath } from '../workspace/byte-path';
import { walkTree } from '../workspace/walk-tree';
import { type BaseRepository, diffEnds, gitOptions, type OmittedFile, storeFinal } from './base-repository';
import { runGit } from './git-runner';

const diffBytesMax = 8 * 1024 * 1024;
/** Room for the closing note inside the cap. */
const noteBytesMax = 64 * 1024;
const namedFilesMax = 200;

export interface WorkspaceDiff {
  readonly text: Buffer;
  readonly truncated: boolean;
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
}

const diffTree = [
  'diff-tree',
  '-r',
  '--no-commit-id',
  '--find-renames=100%',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--end-of-options',
  diffEnds.base,
  diffEnds.final,
];
const withFlags = (...flags: string[]): string[] => ['diff-tree', ...flags, ...diffTree.slice(1)];

/**
 * What the agent changed, as a patch that applies to the base. Call when the sandbox is dead. Our own walk reads the workspace as bytes;
 * git compares two trees in a repository that the agent never had, so its ignore rules, attributes, hooks and configuration, and its `.git`,
 * mean nothing here. The same two trees give the same bytes.
 */
export async function makeDiff(
  base: BaseRepository,
  baseEntries: readonly ManifestEntry[],
  workspace: string,
  limits: TreeLimits,
): Promise<WorkspaceDiff> {
  const { omitted } = await storeFinal(base, baseEntries, walkTree(workspace, limits));
  const { stdout: numstat } = await runGit(withFlags('--numstat', '-z'), gitOptions(base));
  const stats = parseNumstat(numstat.toString('latin1'));
  const patch = await runGit(
    withFlags('-p', '--binary', '--full-index', '--src-prefix=a/', '--dst-prefix=b/', '--diff-algorithm=myers', '-U3'),
    { ...gitOptions(base), outputBytesMax: diffBytesMax },
  );
  const { text: cut, files } = cutAtFile(
    patch.stdout.toString('latin1'),
    patch.truncated || omitted.length > 0 ? diffBytesMax - noteBytesMax : diffBytesMax,
  );
  const text = Buffer.from(cut, 'latin1');
  const truncated = files < stats.length || omitted.length > 0;
  return {
    text: truncated ? Buffer.concat([text, note(files, stats.length, omitted)]) : text,
    truncated,
    files: stats.length + omitted.length,
    insertions: stats.reduce((sum, stat) => sum + (stat.insertions ?? 0), 0),
    deletions: stats.reduce((sum, stat) => sum + (stat.deletions ?? 0), 0),
  };
}

/** Lines after the last hunk that `git apply` passes over. Names are quoted: they may hold line ends. */
function note(shown: number, changed: number, omitted: readonly OmittedFile[]): Buffer {
  const named = omitted
    .slice(0, namedFilesMax)
    .map(({ path, reason }) => `# not shown (${reason}): ${JSON.stringify(displayPath(path)).slice(0, 300)}`);
  const more = omitted.length > namedFilesMax ? [`# and ${omitted.length - namedFilesMax} more`] : [];
  return Buffer.from([`# truncated: ${shown} of ${changed} changed files are shown`, ...named, ...more, ''].join('\n'));
}
