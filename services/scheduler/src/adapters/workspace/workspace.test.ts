import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import type http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { WorkspaceInput } from '@fluidbox/contracts';
import type { ManifestEntry } from '../../domain/tree';
import { runFiles } from '../files';
import { makeDiff, type WorkspaceDiff } from '../git/make-diff';
import { stageSources } from '../local/launcher';
import { firstSandboxUid } from '../local/uids';
import { prepareWorkspace, type WorkspaceSettings } from './prepare-workspace';

const isRoot = process.getuid?.() === 0;
const uid = isRoot ? (firstSandboxUid() ?? 0) + 7 : null;
let dir: string;
let source: string;
let settings: WorkspaceSettings;

beforeEach(() => {
  dir = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'fluidbox-workspace-'));
  source = path.join(dir, 'source');
  fs.mkdirSync(source);
  settings = {
    localSources: [source],
    privateGitHosts: [],
    proxy: null,
    caFile: null,
    timeoutMs: 60_000,
    limits: { filesMax: 1000, bytesMax: 64 * 1024 ** 2, fileBytesMax: 16 * 1024 ** 2 },
  };
});
afterEach(() => {
  fs.rmSync(dir, { recursive: true, force: true });
  fs.rmSync('/tmp/fluidbox-pwned', { force: true });
});

let runs = 0;
async function prepare(input: WorkspaceInput) {
  runs += 1;
  const runDir = path.join(dir, `run-${runs}`);
  fs.mkdirSync(runDir, { mode: 0o700 });
  const prepared = await prepareWorkspace(input, runDir, uid, settings);
  return { prepared, runDir, workspace: runFiles(runDir).workspace };
}
function diffOf(runDir: string): Promise<WorkspaceDiff> {
  const files = runFiles(runDir);
  return makeDiff(
    { gitDir: files.base, uid },
    JSON.parse(fs.readFileSync(files.manifest, 'utf8')) as ManifestEntry[],
    files.workspace,
    settings.limits,
  );
}
/** Commands as the agent would run them: with the run's uid, in the workspace. */
function asAgent(workspace: string, script: string): string {
  const options = { cwd: workspace, env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' }, encoding: 'utf8' as const };
  if (uid === null) return execFileSync('bash', ['-ec', script], options);
  const drop = ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', 'bash', '-ec', `cd /mnt/workspace; ${script}`];
  return execFileSync(
    'unshare',
    ['--mount', '--propagation', 'private', 'bash', '-c', stageSources, 'agent', '/mnt', workspace, 'workspace', '--', ...drop],
    options,
  );
}
/** name → mode and content, for everything but .git. */
function snapshot(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of fs.readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(folder, file);
    if (/(^|\/)\.git(\/|$)/.test(name)) continue;
    if (entry.isSymbolicLink()) found[name] = `link ${fs.readlinkSync(file)}`;
    else if (entry.isFile())
      found[name] = `${fs.statSync(file).mode & 0o100 ? 'x' : '-'} ${createHash('sha256').update(fs.readFileSync(file)).digest('hex')}`;
  }
  return found;
}
/** The diff, applied with git to a copy of the original. */
function applied(diff: WorkspaceDiff): Record<string, string> {
  const copy = path.join(dir, `copy-${runs}`);
  fs.cpSync(source, copy, { recursive: true, verbatimSymlinks: true });
  const patch = path.join(dir, 'changes.patch');
  fs.writeFileSync(patch, diff.text);
  if (diff.text.length > 0)
    execFileSync('git', ['apply', patch], {
      cwd: copy,
      env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent', GIT_CEILING_DIRECTORIES: dir },
    });
  return snapshot(copy);
}
const write = (name: string, content: string | Buffer, mode = 0o644): void => {
  fs.mkdirSync(path.dirname(path.join(source, name)), { recursive: true });
  fs.writeFileSync(path.join(source, name), content, { mode });
};

describe('local_copy', () => {
  it('copies files, keeps links that stay inside, skips and counts the rest, and leaves the original alone', async () => {
    write('a.txt', 'hello');
    write('bin/run', '#!/bin/sh\n', 0o755);
    write('.git/hooks/post-checkout', '#!/bin/sh\ntouch /tmp/fluidbox-pwned\n', 0o755);
    write('sub/.git/config', 'hidden');
    fs.symlinkSync('../a.txt', path.join(source, 'bin/inside'));
    fs.symlinkSync('/etc/passwd', path.join(source, 'absolute'));
    fs.symlinkSync('../../outside', path.join(source, 'bin/climbs'));
    fs.symlinkSync('.', path.join(source, 'loop'));
    fs.writeFileSync(path.join(dir, 'outside'), 'secret');
    execFileSync('mkfifo', [path.join(source, 'pipe')]);
    fs.writeFileSync(Buffer.concat([Buffer.from(`${source}/bad-`), Buffer.from([0xff])]), '');
    const before = execFileSync('bash', ['-c', 'find . -printf "%p %m %s %T@ %l\n" | sort'], { cwd: source, encoding: 'utf8' });
    const { prepared, workspace } = await prepare({ kind: 'local_copy', path: source });
    expect(execFileSync('bash', ['-c', 'find . -printf "%p %m %s %T@ %l\n" | sort'], { cwd: source, encoding: 'utf8' })).toBe(before);
    expect(prepared).toMatchObject({ kind: 'local_copy', files: 4, skipped: 4 });
    expect(Object.keys(snapshot(workspace)).sort()).toEqual(['a.txt', 'bin/inside', 'bin/run', 'loop']);
    expect(snapshot(workspace)['bin/inside']).toBe('link ../a.txt');
    expect(fs.existsSync(path.join(workspace, '.git/hooks/post-checkout'))).toBe(false);
    if (uid !== null) expect(fs.statSync(path.join(workspace, 'bin/run')).uid).toBe(uid);
  });

  it('gives the agent a clean repository in which it can commit', async () => {
    write('a.txt', 'hello');
    write('.gitignore', 'dist\n');
    write('dist/out.js', 'built');
    const { workspace } = await prepare({ kind: 'local_copy', path: source });
    expect(asAgent(workspace, 'git status --porcelain && git log --format=%s')).toBe('Base of the run\n');
    expect(asAgent(workspace, 'echo more >> a.txt && git commit -qam "Say more" && git log --format=%s')).toBe(
      'Say more\nBase of the run\n',
    );
  });

  it.each([
    ['outside every allowed folder', () => '/etc'],
    [
      'through a link to the outside',
      () => {
        fs.symlinkSync('/etc', path.join(source, 'link'));
        return path.join(source, 'link');
      },
    ],
    [
      'beside an allowed folder with the same beginning',
      () => {
        fs.mkdirSync(`${source}-other`);
        return `${source}-other`;
      },
    ],
  ])('is refused %s', async (_where, folder) => {
    await expect(prepare({ kind: 'local_copy', path: folder() })).rejects.toThrow(/FLUIDBOX_LOCAL_SOURCES/);
  });

  it.each(['local_copy', 'git_repository'] as const)(
    'says of a missing folder that it is missing, where it would be allowed: %s',
    async (kind) => {
      const prepared = (folder: string) => prepare(kind === 'local_copy' ? { kind, path: folder } : { kind, clone_url: folder });
      await expect(prepared(path.join(source, 'a/b'))).rejects.toThrow(/a\/b: there is no such folder$/);
      fs.symlinkSync(source, path.join(dir, 'other-name'));
      await expect(prepared(path.join(dir, 'other-name/a'))).rejects.toThrow(/there is no such folder$/);
      fs.symlinkSync('/etc', path.join(source, 'etc'));
      for (const outside of [path.join(dir, 'missing'), path.join(source, 'etc/missing'), `${source}/../missing`])
        await expect(prepared(outside)).rejects.toThrow(/FLUIDBOX_LOCAL_SOURCES/);
    },
  );

  it('is refused whole when it is too large, never copied in part', async () => {
    write('big', Buffer.alloc(100));
    settings = { ...settings, limits: { ...settings.limits, fileBytesMax: 99 } };
    await expect(prepare({ kind: 'local_copy', path: source })).rejects.toThrow(/"big" has 100 bytes/);
  });

  it('has the same base digest for the same files', async () => {
    write('a', '1');
    const one = await prepare({ kind: 'local_copy', path: source });
    fs.utimesSync(path.join(source, 'a'), 1, 1);
    const two = await prepare({ kind: 'local_copy', path: source });
    write('a', '2');
    const three = await prepare({ kind: 'local_copy', path: source });
    expect(two.prepared.baseDigest).toBe(one.prepared.baseDigest);
    expect(three.prepared.baseDigest).not.toBe(one.prepared.baseDigest);
  });
});

describe('scratch', () => {
  it('begins empty, with a repository', async () => {
    const { prepared, workspace, runDir } = await prepare({ kind: 'scratch' });
    expect(prepared).toMatchObject({ files: 0, bytes: 0, skipped: 0 });
    expect(fs.readdirSync(workspace)).toEqual(['.git']);
    asAgent(workspace, 'echo hi > new');
    expect((await diffOf(runDir)).text.toString()).toContain('+hi');
  });
});

describe('git_repository', () => {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', source, '-c', 'user.name=x', '-c', 'user.email=x@x', '-c', 'init.defaultBranch=main', ...args], {
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' },
    }).trim();
  const commit = (message: string): string => {
    git('add', '-A');
    git('commit', '-qm', message);
    return git('rev-parse', 'HEAD');
  };

  it('takes exactly the ref or commit that is named, raw, and runs nothing of the repository', async () => {
    git('init', '-q');
    write('a.txt', '$Id$ one\n');
    write('.gitattributes', '*.txt ident text eol=crlf filter=evil\n');
    const first = commit('first');
    git('tag', 'v1');
    write('a.txt', 'two');
    write('run', 'x', 0o755);
    fs.symlinkSync('a.txt', path.join(source, 'link'));
    fs.symlinkSync('/etc/passwd', path.join(source, 'leaves'));
    const second = commit('second');
    fs.writeFileSync(path.join(source, '.git/hooks/post-checkout'), '#!/bin/sh\ntouch /tmp/fluidbox-pwned\n', { mode: 0o755 });
    git('config', 'core.fsmonitor', 'touch /tmp/fluidbox-pwned');
    git('config', 'filter.evil.smudge', 'touch /tmp/fluidbox-pwned');
    git('config', 'uploadpack.packObjectsHook', 'touch /tmp/fluidbox-pwned');
    const head = await prepare({ kind: 'git_repository', clone_url: source });
    expect(head.prepared).toMatchObject({ commit: second, files: 4, skipped: 1 });
    expect(fs.readFileSync(path.join(head.workspace, 'a.txt'), 'utf8')).toBe('two');
    for (const which of [{ ref: 'v1' }, { ref: 'refs/tags/v1' }, { commit_sha: first }]) {
      const old = await prepare({ kind: 'git_repository', clone_url: source, ...which });
      expect(old.prepared.commit).toBe(first);
      expect(fs.readFileSync(path.join(old.workspace, 'a.txt'), 'utf8')).toBe('$Id$ one\n');
    }
    expect(fs.existsSync('/tmp/fluidbox-pwned')).toBe(false);
    await expect(prepare({ kind: 'git_repository', clone_url: source, ref: 'nowhere' })).rejects.toThrow(/no branch and no tag/);
    await expect(prepare({ kind: 'git_repository', clone_url: source, commit_sha: '0'.repeat(40) })).rejects.toThrow(/git/);
  });

  describe('that stands for one outside of the allowed folders', () => {
    let outside: string;
    const standIns: readonly (readonly [string, () => void])[] = [
      ['a .git file', () => fs.writeFileSync(path.join(source, '.git'), `gitdir: ${outside}/.git\n`)],
      ['a .git link', () => fs.symlinkSync(`${outside}/.git`, path.join(source, '.git'))],
      [
        'a commondir file',
        () => {
          fs.mkdirSync(path.join(source, '.git'));
          fs.writeFileSync(path.join(source, '.git/commondir'), `${outside}/.git\n`);
          fs.copyFileSync(`${outside}/.git/HEAD`, path.join(source, '.git/HEAD'));
        },
      ],
      [
        'linked refs and objects',
        () => {
          git('init', '-q');
          for (const name of ['refs', 'objects']) {
            fs.rmSync(path.join(source, '.git', name), { recursive: true });
            fs.symlinkSync(`${outside}/.git/${name}`, path.join(source, '.git', name));
          }
        },
      ],
      [
        'a link among the objects',
        () => {
          git('clone', '-q', '--bare', outside, path.join(source, '.git'));
          fs.rmSync(path.join(source, '.git/objects/pack'), { recursive: true, force: true });
          fs.symlinkSync(`${outside}/.git/objects/pack`, path.join(source, '.git/objects/pack'));
        },
      ],
      ['alternates', () => git('clone', '-q', '--bare', '--shared', outside, path.join(source, '.git'))],
    ];

    beforeEach(() => {
      outside = path.join(dir, 'outside');
      fs.mkdirSync(outside);
      execFileSync('git', ['-C', outside, 'init', '-q', '-b', 'main']);
      fs.writeFileSync(path.join(outside, 'a.txt'), 'private');
      execFileSync('git', ['-C', outside, 'add', '-A']);
      execFileSync('git', ['-C', outside, '-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '-qm', 'private']);
    });

    it.each(standIns)('by %s is refused, and read once its folder is allowed too', async (_name, make) => {
      make();
      await expect(prepare({ kind: 'git_repository', clone_url: source })).rejects.toThrow(/outside.*FLUIDBOX_LOCAL_SOURCES/);
      settings = { ...settings, localSources: [source, outside] };
      const { workspace } = await prepare({ kind: 'git_repository', clone_url: source });
      expect(fs.readFileSync(path.join(workspace, 'a.txt'), 'utf8')).toBe('private');
    });

    it('is not found beside or below the folder that is named', async () => {
      fs.symlinkSync(`${outside}/.git`, `${source}.git`);
      await expect(prepare({ kind: 'git_repository', clone_url: source })).rejects.toThrow(/git/);
      fs.rmSync(`${source}.git`);
      git('init', '-q');
      fs.symlinkSync(`${outside}/.git`, path.join(source, '.git/.git'));
      await expect(prepare({ kind: 'git_repository', clone_url: source })).rejects.toThrow(/no default branch/);
    });
  });

  describe('over https', () => {
    let server: https.Server;
    const seen: string[] = [];
    const url = (): string => `https://localhost:${(server.address() as AddressInfo).port}/source/.git`;

    beforeEach(async () => {
      git('init', '-q');
      write('a.txt', 'over https');
      commit('first');
      const [key, cert] = [path.join(dir, 'key.pem'), path.join(dir, 'cert.pem')];
      const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
      execFileSync(
        'openssl',
        [
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:P-256',
          '-nodes',
          '-days',
          '2',
          '-keyout',
          key,
          '-out',
          cert,
          ...subject,
        ],
        { stdio: 'ignore' },
      );
      fs.chmodSync(cert, 0o600);
      server = https.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) }, (request, response) => {
        seen.push(`${request.method} ${request.url}`);
        if (request.url?.startsWith('/moved/')) {
          response.writeHead(302, { location: request.url.replace('/moved/', '/source/') });
          response.end();
        } else serveGit(request, response);
      });
      await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
      settings = { ...settings, privateGitHosts: ['localhost'], caFile: cert };
    });
    afterEach(() => server.close());

    /** git's own server, as CGI. */
    function serveGit(request: http.IncomingMessage, response: http.ServerResponse): void {
      const [pathname = '', query = ''] = (request.url ?? '').split('?');
      const backend = spawn('git', ['http-backend'], {
        env: {
          PATH: '/usr/bin:/bin',
          GIT_PROJECT_ROOT: dir,
          GIT_HTTP_EXPORT_ALL: '1',
          PATH_INFO: pathname,
          QUERY_STRING: query,
          REQUEST_METHOD: request.method,
          CONTENT_TYPE: request.headers['content-type'] ?? '',
          HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
          GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        },
      });
      request.pipe(backend.stdin);
      const chunks: Buffer[] = [];
      backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
      backend.on('close', () => {
        const answer = Buffer.concat(chunks);
        const end = answer.indexOf('\r\n\r\n');
        for (const line of answer.subarray(0, end).toString().split('\r\n')) {
          const [name = '', value = ''] = line.split(': ');
          if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
          else response.setHeader(name, value);
        }
        response.end(answer.subarray(end + 4));
      });
    }

    it('fetches one commit, trusting the authority that is configured', async () => {
      const { workspace, prepared } = await prepare({ kind: 'git_repository', clone_url: url(), ref: 'main' });
      expect(prepared.files).toBe(1);
      expect(fs.readFileSync(path.join(workspace, 'a.txt'), 'utf8')).toBe('over https');
    });

    it('trusts no other, follows no redirect, and asks no private host that is not listed', async () => {
      await expect(prepare({ kind: 'git_repository', clone_url: url().replace('/source/', '/moved/') })).rejects.toThrow(
        /git ls-remote failed/,
      );
      expect(seen.some((request) => request.includes('/moved/'))).toBe(true);
      settings = { ...settings, caFile: null };
      await expect(prepare({ kind: 'git_repository', clone_url: url() })).rejects.toThrow(/certificate/);
      const asked = seen.length;
      settings = { ...settings, privateGitHosts: [] };
      await expect(prepare({ kind: 'git_repository', clone_url: url() })).rejects.toThrow(/private address/);
      expect(seen.length).toBe(asked);
    });
  });

  it.each([
    ['/etc', /FLUIDBOX_LOCAL_SOURCES/],
    ['https://127.0.0.1/x.git', /private address/],
    ['https://localhost/x.git', /private address/],
    ['https://[::1]/x.git', /private address/],
    ['https://user:secret@example.com/x.git', /no user name/],
  ])('refuses %s', async (cloneUrl, reason) => {
    await expect(prepare({ kind: 'git_repository', clone_url: cloneUrl })).rejects.toThrow(reason);
  });
});

describe('the diff', () => {
  it('applies to the original and gives the workspace: text, binary, empty, mode, link, rename, deletion, odd names', async () => {
    write('text', 'one\ntwo\nthree\n');
    write('no-newline', 'end');
    write('binary', Buffer.from([0, 1, 2, 255, 254]));
    write('script', 'echo\n');
    write('gone/deep/file', 'bye');
    write('moved', 'a file that is renamed\n'.repeat(10));
    write('becomes-folder', 'x');
    write('becomes-file/x', 'x');
    write('becomes-link', 'x');
    fs.symlinkSync('text', path.join(source, 'link'));
    const { runDir, workspace } = await prepare({ kind: 'local_copy', path: source });
    asAgent(
      workspace,
      `
      sed -i s/two/2/ text; printf 'end\\n' > no-newline; printf '\\000\\001new' > binary; chmod +x script; rm -r gone; mv moved was-moved; : > empty
      rm becomes-folder; mkdir becomes-folder; echo y > becomes-folder/y; rm -r becomes-file; echo z > becomes-file; rm becomes-link; ln -s text becomes-link
      ln -sfn script link; mkdir -p 'odd "names"'; printf 'ü' > 'odd "names"/ü	tab'; printf x > $'line\\nend'; git add -A; git commit -qm done; git gc -q`,
    );
    const diff = await diffOf(runDir);
    expect(applied(diff)).toEqual(snapshot(workspace));
    expect(diff.truncated).toBe(false);
    expect(diff.text.toString()).toContain('rename from moved\nrename to was-moved\n');
    expect((await diffOf(runDir)).text.equals(diff.text)).toBe(true);
  });

  it('counts files and lines', async () => {
    write('a', '1\n2\n3\n');
    const { runDir, workspace } = await prepare({ kind: 'local_copy', path: source });
    expect(await diffOf(runDir)).toMatchObject({ files: 0, insertions: 0, deletions: 0, truncated: false });
    asAgent(workspace, 'printf "1\\n3\\n4\\n5\\n" > a; echo new > b');
    expect(await diffOf(runDir)).toMatchObject({ files: 2, insertions: 3, deletions: 1 });
  });

  it('shows what the agent tried to hide with ignore rules, attributes, index flags and configuration', async () => {
    write('a.txt', 'old\n');
    write('.gitattributes', '* text=auto\n');
    const { runDir, workspace } = await prepare({ kind: 'local_copy', path: source });
    asAgent(
      workspace,
      `
      printf '*\\n' > .gitignore; printf '*\\n' > .git/info/exclude; printf '* -diff -text binary export-ignore\\n*.txt filter=hide diff=hide\\n' > .gitattributes
      git config filter.hide.clean 'echo old'; git config diff.hide.textconv 'echo same'; git config diff.external true; git config core.excludesFile .gitignore; git config core.worktree /nowhere
      git update-index --assume-unchanged a.txt --skip-worktree a.txt 2>/dev/null || :
      echo evil > a.txt; mkdir -p node_modules/x dist; echo hidden > node_modules/x/payload.js; echo hidden > dist/out; printf 'crlf\\r\\n' > crlf.txt
      mkdir locked; echo locked > locked/file; chmod 000 locked/file locked`,
    );
    const diff = await diffOf(runDir);
    const text = diff.text.toString();
    for (const line of ['+evil', '+++ b/node_modules/x/payload.js', '+++ b/dist/out', '+++ b/.gitignore', '+crlf\r', '+locked'])
      expect(text).toContain(line);
    if (uid === null) fs.chmodSync(path.join(workspace, 'locked'), 0o700);
    expect(applied(diff)).toEqual(snapshot(workspace));
  });

  // H-WS-03
  it('[WORKSPACE-2] runs nothing that the agent planted in its repository', async () => {
    write('a.txt', 'old\n');
    const { runDir, workspace } = await prepare({ kind: 'local_copy', path: source });
    const evil = "printf '#!/bin/sh\\ntouch /tmp/fluidbox-pwned\\n' > $h; chmod +x $h";
    asAgent(
      workspace,
      `
      mkdir -p .githooks .git/hooks
      for h in .git/hooks/post-checkout .git/hooks/pre-commit .git/hooks/post-index-change .githooks/post-checkout .githooks/pre-commit; do ${evil}; done
      git config core.hooksPath .githooks; git config core.fsmonitor 'touch /tmp/fluidbox-pwned'; git config diff.external 'touch /tmp/fluidbox-pwned'; git config core.pager 'touch /tmp/fluidbox-pwned'
      git config filter.x.clean 'touch /tmp/fluidbox-pwned'; printf '* filter=x\\n' > .gitattributes; echo new > a.txt`,
    );
    const diff = await diffOf(runDir);
    expect(fs.existsSync('/tmp/fluidbox-pwned')).toBe(false);
    expect(diff.text.toString()).toContain('+new');
    // The twin: what was planted does run for a git that looks into the workspace.
    asAgent(workspace, 'git status >/dev/null 2>&1 || :');
    expect(fs.existsSync('/tmp/fluidbox-pwned')).toBe(true);
  });

  it('never follows a link, and shows it as a link', async () => {
    write('a', '1');
    fs.writeFileSync(path.join(dir, 'secret'), 'host secret');
    const { runDir, workspace } = await prepare({ kind: 'local_copy', path: source });
    asAgent(workspace, `rm a; ln -s ${dir}/secret a; ln -s /etc etc; ln -s .. up; mkfifo pipe; rm -rf .git; ln -s /etc .git`);
    const diff = await diffOf(runDir);
    const text = diff.text.toString();
    expect(text).not.toContain('host secret');
    expect(text).not.toContain('root:');
    expect(text).toContain('new file mode 120000');
    expect(text).toContain('# not shown (special_file): "pipe"');
    expect(diff.truncated).toBe(true);
  });

  it('is cut after a whole file at 8 MiB, says so, and what is left still applies', async () => {
    write('a', '1\n');
    const { runDir, workspace } = await prepare({ kind: 'local_copy', path: source });
    asAgent(workspace, 'echo 2 > a; for n in 1 2 3; do head -c 3000000 /dev/zero | tr "\\0" "x" | fold -w 100 > big$n; done');
    const diff = await diffOf(runDir);
    expect(diff).toMatchObject({ truncated: true, files: 4 });
    expect(diff.text.length).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(diff.text.toString()).toMatch(/# truncated: 3 of 4 changed files are shown\n$/);
    expect(Object.keys(applied(diff)).sort()).toEqual(['a', 'big1', 'big2']);
  });

  it('names a file that is too large to read, and does not call it deleted', async () => {
    write('a', '1\n');
    const { runDir, workspace } = await prepare({ kind: 'local_copy', path: source });
    asAgent(workspace, 'truncate -s 1T a; truncate -s 1T sparse; echo small > b');
    const diff = await diffOf(runDir);
    expect(diff).toMatchObject({ truncated: true, files: 3 });
    expect(diff.text.toString()).toContain('# not shown (too_large): "sparse"');
    expect(diff.text.toString()).not.toContain('deleted file');
  });
});
