import { WorkspaceInput } from './run-spec';

describe('a clone URL', () => {
  const parse = (clone_url: string) => WorkspaceInput.safeParse({ kind: 'git_repository', clone_url });

  it.each([
    'https://user:secret@host/a',
    'https://token@host/a',
    'https://host\\@other/a',
    'https://host/a?access_token=secret',
    'https://host/a#secret',
    'http://host/a',
    'ext::sh -c true',
  ])('is refused before it is stored: %s', (url) => {
    const parsed = parse(url);
    expect(parsed.success).toBe(false);
    expect(parsed.error?.issues[0]?.path).toEqual(['clone_url']);
  });

  it.each(['https://host/a.git', 'https://host:8443/a/@scope/b', '/srv/git/a b@c?d#e'])('is taken: %s', (url) => {
    expect(parse(url).success).toBe(true);
  });
});
