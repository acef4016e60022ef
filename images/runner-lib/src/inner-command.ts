import { innerEnvironment, shellSandboxBinds, spawnInner } from './inner-sandbox';

export interface InnerCommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface InnerCommandOptions {
  readonly readOnlyWorkspace: boolean;
  readonly stdin?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

const outputCharsMax = 1024 * 1024;

/** One shell command in the same sandbox that an agent's commands get: inner sandbox, then sh-wrap, no network at all. */
export function runShellCommand(command: string, options: InnerCommandOptions): Promise<InnerCommandResult> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? 120_000);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  return new Promise((resolve, reject) => {
    const child = spawnInner('/opt/sh-wrap', [command], {
      env: innerEnvironment,
      network: 'own',
      readOnlyWorkspace: options.readOnlyWorkspace,
      binds: shellSandboxBinds(),
      signal,
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        if (output[name].length < outputCharsMax) output[name] += text;
      });
    }
    child.on('error', reject);
    child.on('close', (exitCode) => resolve({ exitCode, ...output }));
    // A command that never reads its input closes the pipe early; its exit code says what happened.
    child.stdin?.on('error', () => child.stdin?.destroy());
    child.stdin?.end(options.stdin ?? '');
  });
}
