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

/** Address ranges that a clone must not reach on the control plane's behalf. */
export function isPrivateAddress(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  const parts = mapped.split('.').map(Number);
  if (parts.length === 4 && parts.every((part) => part >= 0 && part <= 255)) {
    const [a = 0, b = 0] = parts;
    return (
      a === 0 ||
      a === 10 ||
      a === 127 ||
      a >= 224 ||
      (a === 100 && b >= 64 && b < 128) ||
      (a === 169 && b === 254) ||
      (a === 172 && b >= 16 && b < 32) ||
      (a === 192 && b === 168) ||
      (a === 192 && b === 0) ||
      (a === 198 && (b === 18 || b === 19))
    );
  }
  // Of IPv6 only global unicast 2000::/3 is public; 6to4 and Teredo carry an IPv4 address inside.
  const lower = mapped.toLowerCase();
  return !/^[23][0-9a-f]{3}:/.test(lower) || /^2002:/.test(lower) || /^2001:0{0,3}0?:/.test(lower);
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
