import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { launcherEnvironment, stageFolder, stageSources } from '../local/launcher';

export interface GitOptions {
  /** The bare repository: always ours, never one that an agent had. */
  readonly gitDir: string;
  readonly input?: AsyncIterable<Buffer> | Iterable<Buffer>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** More output is cut off, and git is ended: the result says `truncated`. */
  readonly outputBytesMax?: number;
  /** Only fetching needs it. */
  readonly network?: boolean;
  /** A file in the repository's folder with the certificate authorities to trust: the run's uid may not be able to read any other. */
  readonly authorities?: string | undefined;
  /** Ends git early. */
  readonly signal?: AbortSignal | undefined;
  /** As root: the uid that git runs as; null = as we are. */
  readonly uid: number | null;
}
export interface GitResult {
  readonly stdout: Buffer;
  readonly truncated: boolean;
}

const gitTimeoutMs = 90_000;
const outputBytesMaxDefault = 64 * 1024 * 1024;
const stderrCharsMax = 4_000;
/** No file that git writes may pass this (RLIMIT_FSIZE): a remote could send without end. */
const fileBytesMax = 4 * 1024 ** 3;

const memoryBytesMax = 4 * 1024 ** 3;

/** Cleared, but for these: no configuration, attributes, hooks, prompts or credentials of whoever started us. */
const gitEnvironment = {
  ...launcherEnvironment,
  LANG: 'C',
  HOME: '/nonexistent',
  XDG_CONFIG_HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'false',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
} as const;

const hardening = [
  'core.hooksPath=/dev/null',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.askPass=false',
  'credential.helper=',
  'protocol.ext.allow=never',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'transfer.fsckObjects=true',
  'gc.auto=0',
  'maintenance.auto=false',
  'core.compression=0',
  'fastimport.unpackLimit=0',
  'core.protectNTFS=false',
  'core.protectHFS=false',
  'core.logAllRefUpdates=false',
].flatMap((setting) => ['-c', setting]);

/**
 * Runs git on a repository of ours. Started by root it runs as the run's uid, in a mount namespace where the repository is staged (it may
 * lie in a 0700 folder) and, unless it fetches, without a network: git parses what strangers wrote.
 */
export async function runGit(args: readonly string[], options: GitOptions): Promise<GitResult> {
  options.signal?.throwIfAborted();
  const { command, commandArgs } = commandLine(args, options);
  const verb = args.find((arg, index) => arg !== '-c' && args[index - 1] !== '-c') ?? '';
  const child = spawn(command, commandArgs, {
    cwd: '/',
    env: { ...gitEnvironment, ...options.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const stop = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended in this moment.
    }
  };
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, options.timeoutMs ?? gitTimeoutMs);
  options.signal?.addEventListener('abort', stop, { once: true });
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  try {
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = `${stderr}${chunk.toString('utf8')}`.slice(-stderrCharsMax);
    });
    const [output, { code, signal }] = await Promise.all([
      collect(child.stdout, options.outputBytesMax ?? outputBytesMaxDefault, stop),
      ended,
      feed(child.stdin, options.input ?? [], stop),
    ]);
    options.signal?.throwIfAborted();
    if (timedOut) throw new Error(`git ${verb} took longer than ${(options.timeoutMs ?? gitTimeoutMs) / 1000} s`);
    if (code !== 0 && !output.truncated) throw new Error(`git ${verb} failed (${signal ?? code}): ${stderr.trim()}`);
    return output;
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener('abort', stop);
    stop();
  }
}

function commandLine(
  args: readonly string[],
  { gitDir, uid, network = false, authorities }: GitOptions,
): { command: string; commandArgs: string[] } {
  const limits = ['prlimit', `--fsize=${fileBytesMax}`, `--data=${memoryBytesMax}`, '--core=0'];
  const trust = (dir: string): string[] => (authorities === undefined ? [] : ['-c', `http.sslCAInfo=${dir}/${authorities}`]);
  const git = (dir: string): string[] => ['git', `--git-dir=${dir}`, ...hardening, ...trust(dir), ...args];
  if (uid === null) return { command: 'setpriv', commandArgs: ['--pdeathsig', 'KILL', '--no-new-privs', ...limits, ...git(gitDir)] };
  const stage = stageFolder([gitDir]);
  return {
    command: 'unshare',
    commandArgs: [
      ...[
        '--mount',
        ...(network ? [] : ['--net']),
        '--propagation',
        'private',
        'bash',
        '-c',
        stageSources,
        'fluidbox-git',
        stage,
        gitDir,
        'git',
        '--',
      ],
      ...[
        'setpriv',
        `--reuid=${uid}`,
        `--regid=${uid}`,
        '--clear-groups',
        '--no-new-privs',
        '--pdeathsig',
        'KILL',
        ...limits,
        ...git(`${stage}/git`),
      ],
    ],
  };
}

async function collect(stream: Readable, bytesMax: number, stop: () => void): Promise<GitResult> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes <= bytesMax) continue;
    stop();
    return { stdout: Buffer.concat(chunks).subarray(0, bytesMax), truncated: true };
  }
  return { stdout: Buffer.concat(chunks), truncated: false };
}

/** A git that ends early says why on stderr; the broken pipe itself is no news. */
async function feed(stdin: NodeJS.WritableStream, input: AsyncIterable<Buffer> | Iterable<Buffer>, stop: () => void): Promise<void> {
  let broken = false;
  stdin.on('error', () => {
    broken = true;
  });
  try {
    for await (const chunk of input) {
      if (broken) return;
      if (!stdin.write(chunk)) await new Promise<void>((resolve) => waitForDrain(stdin, resolve));
    }
    stdin.end();
  } catch (error) {
    stop();
    throw error;
  }
}

function waitForDrain(stream: NodeJS.WritableStream, resolve: () => void): void {
  const done = (): void => {
    stream.removeListener('drain', done);
    stream.removeListener('error', done);
    stream.removeListener('close', done);
    resolve();
  };
  stream.on('drain', done).on('error', done).on('close', done);
}
