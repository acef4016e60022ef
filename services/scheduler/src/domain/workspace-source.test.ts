import { isBelow, isPrivateAddress, pickRef, refuseCloneUrl } from './workspace-source';

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

describe('isPrivateAddress', () => {
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '192.168.0.1',
    '172.31.0.1',
    '100.64.0.1',
    '0.0.0.0',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:10.0.0.1',
    '2002:a00:1::',
    '2001::1',
    '64:ff9b::a00:1',
  ])('%s is private', (address) => expect(isPrivateAddress(address)).toBe(true));
  it.each(['1.1.1.1', '140.82.112.3', '2606:4700:4700::1111', '2a00:1450::1', '2001:4860:4860::8888', '172.32.0.1'])(
    '%s is public',
    (address) => expect(isPrivateAddress(address)).toBe(false),
  );
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
