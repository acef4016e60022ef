import { isBelow, pickRef, refuseCloneUrl } from './workspace-source';

describe('isBelow', () => {
  it.each([
    ['/src/a', true],
    ['/src', true],
    ['/srcx', false],
    ['/', false],
  ])('%s', (path, below) => expect(isBelow(path, ['/src'])).toBe(below));
  it('lets nothing through without roots', () => expect(isBelow('/src', [])).toBe(false));
});

describe('refuseCloneUrl', () => {
  it.each(['https://user:secret@host/x', 'https://host/x?token=1', 'https://host/x#y', 'http://host/x', 'ext::sh', 'https://'])(
    'refuses %s',
    (url) => expect(refuseCloneUrl(url)).not.toBeNull(),
  );
  it.each(['https://host/a/b.git', '/srv/git/a'])('takes %s', (url) => expect(refuseCloneUrl(url)).toBeNull());
});

describe('pickRef', () => {
  const remote = [
    { name: 'HEAD', sha: '1' },
    { name: 'refs/heads/main', sha: '1' },
    { name: 'refs/heads/both', sha: '2' },
    { name: 'refs/tags/both', sha: '3' },
    { name: 'refs/tags/v1', sha: '4' },
  ];
  it.each([
    [undefined, '1'],
    ['main', '1'],
    ['v1', '4'],
    ['refs/tags/both', '3'],
  ])('%s', (ref, sha) => expect(pickRef(ref, remote)).toMatchObject({ sha }));
  it.each(['both', 'mai', 'refs/heads/v1'])('refuses %s', (ref) => expect(pickRef(ref, remote)).toHaveProperty('refusal'));
});
