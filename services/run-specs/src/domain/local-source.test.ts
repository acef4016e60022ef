import { isBelow, localSourceOf } from './local-source';

describe('a local source', () => {
  it.each([
    ['/src', true],
    ['/src/', true],
    ['/src/a/b', true],
    ['/src/a/../b', true],
    ['/src/..data', true],
    ['/srcs', false],
    ['/', false],
    ['/src/../etc', false],
    ['/src/a/../../etc', false],
  ])('%s is below /src: %s', (folder, below) => {
    expect(isBelow(folder, ['/elsewhere', '/src/'])).toBe(below);
  });

  it('is below nothing where nothing is allowed, and below / wherever it is', () => {
    expect(isBelow('/src', [])).toBe(false);
    expect(isBelow('/src', ['/'])).toBe(true);
  });

  it('is what is read from this machine, and nothing else', () => {
    expect(localSourceOf({ kind: 'local_copy', path: '/a' })).toEqual({ field: 'path', folder: '/a' });
    expect(localSourceOf({ kind: 'git_repository', clone_url: '/a' })).toEqual({ field: 'clone_url', folder: '/a' });
    expect(localSourceOf({ kind: 'git_repository', clone_url: 'https://h.example/a' })).toBeNull();
    expect(localSourceOf({ kind: 'scratch' })).toBeNull();
  });
});
