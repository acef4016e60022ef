import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ImageManifest, seccompFilter } from '@fluidbox/sandbox-kit';
import type { ControlPlane } from './control-plane';

/**
 * The smallest outer sandbox that keeps the agreement of ../README.md, for the tests of runners: same mounts, same descriptor, no
 * cgroups and no supervisor. The product's own is in the scheduler.
 */
export interface RunFolder {
  readonly dir: string;
  readonly workspace: string;
  readonly gatewayDir: string;
  readonly uid: number;
  remove(): void;
}

/** A built image: its `dist` folder and what its manifest says. */
export interface RunnerImage {
  readonly bundleDir: string;
  readonly binds: ImageManifest['binds'];
}

export function readRunnerImage(dist: string): RunnerImage {
  const { binds } = ImageManifest.parse(JSON.parse(fs.readFileSync(path.join(dist, 'image.json'), 'utf8')));
  return { bundleDir: path.join(dist, 'bundle'), binds: binds.map(({ src, dest }) => ({ src: path.resolve(dist, src), dest })) };
}

export interface LaunchOptions {
  readonly folder: RunFolder;
  readonly image: RunnerImage;
  readonly control: Pick<ControlPlane, 'sessionId' | 'tokens'>;
  readonly task: string;
  readonly systemPrompt?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments for main.js. */
  readonly args?: readonly string[];
  /** Replaces arguments of the outer bubblewrap, to break a promise on purpose. */
  readonly alter?: (args: string[]) => string[];
}

export interface LaunchedRun {
  readonly exitCode: number | null;
  readonly output: string;
}

const asRoot = process.getuid?.() === 0;
const sandboxUid = 20_000 + (process.pid % 10_000);

/** Short, because the path of a unix socket has 108 bytes at most; outside the clone, because that may be closed to the sandbox's uid. */
export function newRunFolder(): RunFolder {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbrun-'));
  fs.chmodSync(dir, 0o711);
  const uid = asRoot ? sandboxUid : (process.getuid?.() ?? 0);
  const made = (name: string): string => {
    const folder = path.join(dir, name);
    fs.mkdirSync(folder, { mode: 0o700 });
    fs.chownSync(folder, uid, uid);
    return folder;
  };
  return { dir, uid, workspace: made('ws'), gatewayDir: made('gw'), remove: () => fs.rmSync(dir, { recursive: true, force: true }) };
}

/** Runs to the end. The runner's output is what it logged. */
export async function launchInSandbox(options: LaunchOptions): Promise<LaunchedRun> {
  const { folder } = options;
  const sources = stage(options);
  const filter = path.join(folder.dir, 'loose.bpf');
  fs.writeFileSync(filter, seccompFilter('loose'));
  const filterFd = fs.openSync(filter, 'r');
  const args = outerArgs(options, sources);
  const bubblewrap = sources.find(({ dest }) => dest === '/opt/bwrap')?.at ?? '/usr/bin/bwrap';
  // bash, not sh: dash cannot close descriptors above 9, and whatever the launcher inherited would reach the agent.
  const script = [
    ...sources.filter(({ mounted }) => mounted).map(({ src, at }) => `mount --bind ${quoted(src)} ${quoted(at)} || exit 90`),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: bash expands it
    'for f in /proc/$$/fd/*; do n=${f##*/}; ((n > 4)) && eval "exec $n>&-"; done',
    `exec prlimit --core=0 setpriv ${asRoot ? `--reuid=${folder.uid} --regid=${folder.uid} --clear-groups` : ''} --no-new-privs --pdeathsig KILL ${quoted(bubblewrap)} "$@"`,
  ].join('; ');
  const command = asRoot ? ['unshare', '-m', '--propagation', 'private', 'bash'] : ['bash'];
  const child = spawn(command[0] ?? 'bash', [...command.slice(1), '-c', script, 'bash', ...(options.alter?.(args) ?? args)], {
    cwd: '/',
    env: { PATH: process.env.PATH ?? '/usr/bin', HOME: '/tmp', LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', filterFd],
  });
  fs.closeSync(filterFd);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  }
  const tokenLine = child.stdio[3];
  if (tokenLine === null || tokenLine === undefined || !('end' in tokenLine)) throw new Error('no pipe for the tokens');
  tokenLine.on('error', () => tokenLine.destroy());
  tokenLine.end(`${JSON.stringify({ ...options.control.tokens, task: options.task, system_prompt: options.systemPrompt ?? null })}\n`);
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, output };
}

interface Source {
  readonly src: string;
  readonly at: string;
  readonly dest: string;
  readonly mounted: boolean;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function bubblewrapPath(): string {
  const found = (process.env.PATH ?? '')
    .split(path.delimiter)
    .map((dir) => path.join(dir, 'bwrap'))
    .find((file) => fs.existsSync(file));
  if (found === undefined) throw new Error('bwrap is not in PATH: install bubblewrap');
  return fs.realpathSync(found);
}

/** As root the sources are first mounted where the sandbox's uid can reach them: a clone may lie below a closed folder. */
function stage({ folder, image }: LaunchOptions): Source[] {
  const node = path.join(folder.dir, 'node');
  fs.copyFileSync(fs.realpathSync(process.execPath), node);
  fs.chmodSync(node, 0o111);
  const bubblewrap = bubblewrapPath();
  const binds = [
    { src: image.bundleDir, dest: '/opt/runner' },
    ...image.binds,
    ...(bubblewrap === '/usr/bin/bwrap' ? [] : [{ src: bubblewrap, dest: '/opt/bwrap' }]),
  ];
  const staged = binds.map(({ src, dest }, index): Source => {
    if (!asRoot) return { src, at: src, dest, mounted: false };
    const at = path.join(folder.dir, `mount${index}`);
    if (fs.statSync(src).isDirectory()) fs.mkdirSync(at);
    else fs.writeFileSync(at, '');
    return { src, at, dest, mounted: true };
  });
  return [...staged, { src: node, at: node, dest: '/opt/node', mounted: false }];
}

function outerArgs({ folder, control, env, args = [] }: LaunchOptions, sources: readonly Source[]): string[] {
  const variables = {
    FLUIDBOX_TOKENS_FD: '3',
    FLUIDBOX_SESSION_ID: control.sessionId,
    FLUIDBOX_MODEL: 'claude-haiku-4-5',
    FLUIDBOX_AUTONOMY: 'supervised',
    FLUIDBOX_TRUST_TIER: 'trusted',
    FLUIDBOX_WORKSPACE: '/workspace',
    FLUIDBOX_CONTROL_URL: 'unix:/run/gw/control.sock',
    FLUIDBOX_LLM_URL: 'unix:/run/gw/llm.sock',
    ...env,
  };
  const sized = (dest: string): string[] => ['--size', String(64 * 1024 * 1024), '--tmpfs', dest];
  // biome-ignore format: one line per thought reads better than one per word
  return [
    '--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'run', '--seccomp', '4',
    '--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64',
    '--proc', '/proc', '--dev', '/dev', ...sized('/tmp'), ...sized('/home'), '--dir', '/etc', '--dir', '/run',
    ...sources.flatMap(({ at, dest }) => ['--ro-bind', at, dest]),
    variables.FLUIDBOX_TRUST_TIER === 'read_only' ? '--ro-bind' : '--bind', folder.workspace, '/workspace', '--ro-bind', folder.gatewayDir, '/run/gw',
    '--remount-ro', '/', '--clearenv', ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
    '--chdir', '/', '--', '/opt/node', '/opt/runner/main.js', ...args,
  ];
}
