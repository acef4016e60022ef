import type { WorkspaceInput } from '@fluidbox/contracts';

export type GitSource = Extract<WorkspaceInput, { kind: 'git_repository' }>;

/** Whether `path` is one of the roots or below one. Both sides must be real paths: links are resolved before. */
export const isBelow = (path: string, roots: readonly string[]): boolean =>
  roots.some((root) => path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`));

const httpsUrl = /^https:\/\/([^/?#]+)(\/[^?#]*)?(.*)$/;

/** Why a clone URL is refused as it is written, or null. The contract's schema has seen to its scheme already. */
export function refuseCloneUrl(cloneUrl: string): string | null {
  if (cloneUrl.startsWith('/')) return null;
  const [, authority = '', , rest = ''] = httpsUrl.exec(cloneUrl) ?? [];
  if (authority === '') return 'clone_url must be https:// or an absolute local path';
  if (authority.includes('@')) return 'clone_url must hold no user name or password: the specification of a run is kept for ever';
  if (rest !== '') return 'clone_url must have no query and no fragment';
  return null;
}

export interface RemoteRef {
  readonly name: string;
  readonly sha: string;
}

/** The one ref that is meant. A name that is branch and tag at once is refused, not guessed. */
export function pickRef(ref: string | undefined, remote: readonly RemoteRef[]): RemoteRef | { readonly refusal: string } {
  const named = (name: string): RemoteRef | undefined => remote.find((each) => each.name === name);
  if (ref === undefined) return named('HEAD') ?? { refusal: 'the repository has no default branch: name a ref' };
  if (ref.startsWith('refs/')) return named(ref) ?? { refusal: `${ref} does not exist in the repository` };
  const branch = named(`refs/heads/${ref}`);
  const tag = named(`refs/tags/${ref}`);
  if (branch !== undefined && tag !== undefined)
    return { refusal: `${ref} is a branch and a tag: write refs/heads/${ref} or refs/tags/${ref}` };
  return branch ?? tag ?? { refusal: `${ref} is no branch and no tag of the repository` };
}
