import type { WorkspaceInput } from '@fluidbox/contracts';

export interface LocalSource {
  readonly field: 'path' | 'clone_url';
  readonly folder: string;
}

/** The folder of this machine that a workspace reads, or nothing. */
export function localSourceOf(workspace: WorkspaceInput): LocalSource | null {
  if (workspace.kind === 'local_copy') return { field: 'path', folder: workspace.path };
  if (workspace.kind === 'git_repository' && workspace.clone_url.startsWith('/'))
    return { field: 'clone_url', folder: workspace.clone_url };
  return null;
}

function partsOf(folder: string): string[] {
  const kept: string[] = [];
  for (const part of folder.split('/')) {
    if (part === '..') kept.pop();
    else if (part !== '' && part !== '.') kept.push(part);
  }
  return kept;
}

/** Of absolute paths, by the text alone: the scheduler, which follows links, has the last word. */
export const isBelow = (folder: string, roots: readonly string[]): boolean => {
  const parts = partsOf(folder);
  return roots.some((root) => partsOf(root).every((part, index) => parts[index] === part));
};

export const notAllowed = (folder: string): string =>
  `${folder} is not below a folder that FLUIDBOX_LOCAL_SOURCES allows: put the folder into FLUIDBOX_LOCAL_SOURCES (absolute paths, separated by colons) in the environment of \`up\` and start it again`;
