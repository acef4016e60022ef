import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { resolvedPaths } from './resolved-paths';

describe('where the paths of a call lead', () => {
  let workspace: string;
  const link = (name: string, target: string) => fs.symlinkSync(target, path.join(workspace, name));
  const of = (input: Record<string, unknown>, tool = 'Read') => resolvedPaths({ tool_call_id: 'a', tool, input }, workspace);

  beforeEach(() => {
    workspace = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'fbx-links-'));
    fs.mkdirSync(path.join(workspace, 'src'));
    fs.writeFileSync(path.join(workspace, '.env'), '');
  });
  afterEach(() => fs.rmSync(workspace, { recursive: true }));

  it('is said only where it is somewhere else', async () => {
    link('notes', '.env');
    expect(await of({ file_path: `${workspace}/.env` })).toBeUndefined();
    expect(await of({ file_path: `${workspace}/src/../.env` })).toBeUndefined();
    expect(await of({ file_path: `${workspace}/src/not-yet` })).toBeUndefined();
    expect(await of({ file_path: `${workspace}/notes` })).toEqual([`${workspace}/.env`]);
    expect(await of({ file_path: 'notes' })).toEqual([`${workspace}/.env`]);
    expect(await of({ file_path: 'notes' }, 'mcp__a__b')).toBeUndefined();
  });

  it('follows links to links, folders on the way, and a file that is not there yet', async () => {
    link('one', 'two');
    link('two', './src');
    expect(await of({ file_path: 'one/new.ts' }, 'Write')).toEqual([`${workspace}/src/new.ts`]);
    link('src/up', '..');
    expect(await of({ notebook_path: 'src/up/.env' })).toEqual([`${workspace}/.env`]);
  });

  it('takes the parent of where a link leads, as the kernel does', async () => {
    link('away', '/etc/ssl');
    expect(await of({ file_path: 'away/../passwd' })).toEqual(['/etc/passwd']);
  });

  it('reports what leaves the workspace as it stands, without following it there', async () => {
    link('proc', '/proc/self/cwd/x');
    link('out', '../../../../../../../etc/shadow');
    expect(await of({ file_path: 'proc' })).toEqual(['/proc/self/cwd/x']);
    expect(await of({ file_path: 'out' })).toEqual(['/etc/shadow']);
  });

  it('looks at every file of a multi-file edit, and at what a file pattern reaches', async () => {
    link('a', '.env');
    link('b', '/etc');
    expect(await of({ edits: [{ file_path: 'src/x' }, { file_path: 'a' }, { file_path: 'b/y' }, {}] }, 'MultiEdit')).toEqual([
      `${workspace}/.env`,
      '/etc/y',
    ]);
    expect(await of({ pattern: 'b/**' }, 'Glob')).toEqual(['/etc']);
    expect(await of({ pattern: '*.conf', path: 'b' }, 'Glob')).toEqual(['/etc']);
    expect(await of({ pattern: 'x/*.conf', path: 'b' }, 'Glob')).toEqual(['/etc', '/etc/x']);
    expect(await of({ pattern: '**/*.ts' }, 'Glob')).toBeUndefined();
  });

  it('ends where links lead round in circles, and takes no input for more than it is', async () => {
    link('round', 'about');
    link('about', 'round');
    expect(await of({ file_path: 'round' })).toBeUndefined();
    expect(await of({ file_path: 7, path: '', edits: 'x', notebook_path: 'a\u0000b' })).toBeUndefined();
  });

  it('says the root when there are more than can be said', async () => {
    link('a', '/etc');
    const edits = Array.from({ length: 300 }, (_, i) => ({ file_path: `a/${i}` }));
    expect(await of({ edits }, 'MultiEdit')).toEqual(['/']);
  });
});
