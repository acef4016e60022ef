import { type LookUp, linkStaysInside, manifestText, refusePath } from './tree';

const tree =
  (entries: Record<string, string | 'dir' | 'file'>): LookUp =>
  (path) => {
    const entry = entries[path];
    return entry === undefined ? 'missing' : entry === 'dir' || entry === 'file' ? entry : { target: entry };
  };

describe('linkStaysInside', () => {
  it.each([
    ['a file beside it', { 'a/link': '../b/file', a: 'dir', b: 'dir', 'b/file': 'file' }, 'a/link', true],
    ['something that is not there', { link: 'nowhere/x' }, 'link', true],
    ['the root itself', { link: '.' }, 'link', true],
    ['outside', { link: '../x' }, 'link', false],
    ['an absolute path', { link: '/etc/passwd' }, 'link', false],
    ['outside through a link that climbs', { a: 'dir', 'a/b': 'dir', 'a/b/top': '../..', x: 'a/b/top/../y' }, 'x', false],
    ['inside through a link that dives', { a: 'dir', 'a/b': 'dir', dive: 'a/b', x: 'dive/../y' }, 'x', true],
    ['itself', { x: 'x' }, 'x', false],
  ] as const)('a link to %s', (_what, entries, path, stays) => {
    expect(linkStaysInside(path, tree(entries))).toBe(stays);
  });
});

describe('refusePath', () => {
  it.each(['/abs', '../evil', 'a/../b', 'a//b', '', 'a/./b', '.git/config', 'sub/.GIT/hooks/x', 'a\0b'])('refuses %j', (path) =>
    expect(refusePath(path)).not.toBeNull(),
  );
  it.each(['a', 'a/b', '.gitignore', '.github/x', 'a..b', '...'])('takes %j', (path) => expect(refusePath(path)).toBeNull());
});

describe('manifestText', () => {
  it('does not depend on the order of its entries', () => {
    const one = { path: 'a', mode: '100644', sha256: '1', size: 1 } as const;
    const other = { path: 'b', mode: '100755', sha256: '2', size: 2 } as const;
    expect(manifestText([other, one])).toBe(manifestText([one, other]));
  });
});
