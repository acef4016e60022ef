/** `Tool` or `Tool(specifier)`, as permission lists of Claude Code have them. */
export interface ClaudeEntry {
  readonly text: string;
  readonly tool: string;
  /** Null for the bare name. */
  readonly specifier: string | null;
}

export function readEntry(text: string): ClaudeEntry | null {
  const [, tool, specifier] = /^([A-Za-z_][A-Za-z0-9_*.-]*)(?:\((.*)\))?$/s.exec(text.trim()) ?? [];
  if (tool === undefined) return null;
  return { text, tool, specifier: specifier === undefined || specifier === '' || specifier === '*' ? null : specifier };
}

export type CommandForm =
  | { readonly kind: 'exact'; readonly command: string }
  /** The words, and whatever follows. */
  | { readonly kind: 'prefix'; readonly command: string }
  /** `ls*`: the text, also in the middle of a word. */
  | { readonly kind: 'text-prefix'; readonly command: string }
  | { readonly kind: 'pattern' };

export function commandForm(specifier: string): CommandForm {
  const text = specifier.trim();
  if (text.endsWith(':*') && !text.slice(0, -2).includes('*')) return { kind: 'prefix', command: text.slice(0, -2).trim() };
  const stars = text.split('*').length - 1;
  if (stars === 0) return { kind: 'exact', command: text };
  if (stars > 1 || !text.endsWith('*')) return { kind: 'pattern' };
  const before = text.slice(0, -1);
  return /\s$/.test(before) ? { kind: 'prefix', command: before.trim() } : { kind: 'text-prefix', command: before };
}

/**
 * Paths follow gitignore: without a slash inside they hold at any depth, and a directory holds all that is in it. Null when the sandbox
 * has no such place.
 */
export function globsOf(specifier: string): { readonly globs: readonly string[]; readonly isHome: boolean } | null {
  let path = specifier.trim();
  if (path.startsWith('!')) return null;
  if (path.startsWith('~')) {
    const rest = path.replace(/^~\/?/, '');
    return { globs: ['/root', '/home/*'].flatMap((home) => withContents(`${home}/${rest}`)), isHome: true };
  }
  if (path.startsWith('//')) return { globs: withContents(path.slice(1)), isHome: false };
  const isAnchored = path.slice(0, -1).includes('/');
  path = path.replace(/^\.?\//, '');
  if (path.split('/').includes('..')) return null;
  return { globs: withContents(isAnchored ? `/workspace/${path}` : `/workspace/**/${path}`), isHome: false };
}

function withContents(path: string): string[] {
  const plain = path.replaceAll(/\/+/g, '/').replace(/\/$/, '');
  return plain.endsWith('*') ? [plain] : [plain, `${plain}/**`];
}
