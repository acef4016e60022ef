import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ApiClient } from '@fluidbox/cli';
import { UpFile } from '@fluidbox/contracts';
import { type ScriptedModel, type ScriptedModelOptions, startScriptedModel, until } from '@fluidbox/testing';
import { supervisorOf } from './recovery/processes-of-run';

export const repositoryRoot = path.resolve(__dirname, '../../..');
const cli = path.join(repositoryRoot, 'libs/cli/dist/main.js');

export interface SystemStack {
  readonly home: string;
  readonly up: UpFile;
  readonly model: ScriptedModel;
  readonly admin: ApiClient;
  readonly adminToken: string;
  /** up.json as it is now (pids change when a process is restarted). */
  current(): UpFile;
  client(token: string): ApiClient;
  /** Everything the stack wrote to its terminal so far. */
  readonly output: () => string;
  /** Signals `up` and waits until it is gone: SIGTERM ends the stack, SIGKILL leaves its children behind. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** `up` on the same folder once more. */
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

export interface StackChoice {
  readonly mode?: 'all-in-one' | 'processes';
  readonly script: ScriptedModelOptions['script'];
  readonly responses?: NonNullable<ScriptedModelOptions['responses']>;
  readonly sources?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** `fluidbox up` as a person starts it, in a folder of its own, with a scripted model on a real socket as the provider. */
export async function startSystemStack(choice: StackChoice): Promise<SystemStack> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-system-'));
  const { script, responses } = choice;
  const model = await startScriptedModel({ script, ...(responses === undefined ? {} : { responses }) });
  let output = '';
  const spawnUp = (): ChildProcess => {
    const started = spawn(process.execPath, [cli, 'up', ...(choice.mode === 'processes' ? ['--processes'] : [])], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        NODE_EXTRA_CA_CERTS: '',
        FLUIDBOX_HOME: home,
        FLUIDBOX_ANTHROPIC_URL: model.url,
        ANTHROPIC_API_KEY: 'test-provider-key',
        FLUIDBOX_OPENAI_URL: model.url,
        OPENAI_API_KEY: 'test-provider-key',
        FLUIDBOX_LOCAL_SOURCES: (choice.sources ?? []).join(':'),
        FLUIDBOX_PUBLIC_PORT: '0',
        FLUIDBOX_CONTROL_PORT: '0',
        FLUIDBOX_LLM_PORT: '0',
        ...choice.environment,
      },
    });
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    return started;
  };
  const upFile = path.join(home, 'up.json');
  const current = (): UpFile => UpFile.parse(JSON.parse(fs.readFileSync(upFile, 'utf8')));
  const untilUp = (): Promise<unknown> =>
    until(
      () => {
        if (child.exitCode !== null) throw new Error(`up ended with ${child.exitCode}:\n${output}`);
        return fs.existsSync(upFile) && current().pid === child.pid;
      },
      { timeoutMs: 180_000 },
    );
  let child = spawnUp();
  try {
    await untilUp();
  } catch (error) {
    await endChild(child, 'SIGTERM');
    await model.close();
    fs.rmSync(home, { recursive: true, force: true });
    throw new Error(`the stack did not come up:\n${output}`, { cause: error });
  }
  const up = current();
  const adminToken = fs.readFileSync(up.files.admin_token, 'utf8').trim();
  const client = (token: string): ApiClient => new ApiClient({ url: up.public_url, token });
  return {
    home,
    up,
    model,
    adminToken,
    admin: client(adminToken),
    client,
    current,
    output: () => output,
    end: (signal) => endChild(child, signal),
    async startAgain() {
      child = spawnUp();
      await untilUp();
    },
    async stop() {
      await endChild(child, 'SIGTERM');
      await model.close();
      endSandboxes(home);
      fs.rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Sandboxes outlive their stack on purpose; those of a test that failed must not. */
function endSandboxes(home: string): void {
  const runs = path.join(home, 'runs');
  for (const runId of fs.existsSync(runs) ? fs.readdirSync(runs) : []) {
    const pid = supervisorOf(home, runId);
    if (pid !== null) process.kill(pid, 'SIGKILL');
  }
}

async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill(signal);
  const killer = setTimeout(() => child.kill('SIGKILL'), 120_000);
  await ended;
  clearTimeout(killer);
}

/** Runs the command line as a person would. */
export function fluidbox(
  home: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [cli, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_EXTRA_CA_CERTS: '', FLUIDBOX_HOME: home, ...environment },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** SHA-256 of every file below a folder, by path: two equal maps = byte-identical. */
export function fingerprint(dir: string): Record<string, string> {
  const { createHash } = require('node:crypto') as typeof import('node:crypto');
  const found: Record<string, string> = {};
  for (const entry of fs.readdirSync(dir, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    found[path.relative(dir, file)] = createHash('sha256').update(fs.readFileSync(file)).digest('hex');
  }
  return found;
}
