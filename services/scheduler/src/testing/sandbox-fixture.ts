import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { runFiles } from '../adapters/files';
import { executeOnlyNode } from '../adapters/local/execute-only-node';
import { checkHost } from '../adapters/local/host-checks';
import { LocalProvider } from '../adapters/local/local-provider';
import { firstSandboxUid, uidForRun } from '../adapters/local/uids';
import { runnerEnvironment, type SandboxLimits, type SandboxPlan } from '../domain/sandbox-plan';

/** A runner that runs the script it is given as task. `report(value)` writes to /workspace/report.json; what it prints is the tail. */
const scriptRunner = `
const fs = require('node:fs');
const secrets = JSON.parse(fs.readFileSync(3, 'utf8'));
fs.closeSync(3);
const report = (value) => fs.writeFileSync('/workspace/report.json', JSON.stringify(value));
const hold = () => setInterval(() => undefined, 1000);
(async () => eval('(async () => {' + secrets.task + '})()'))().catch((error) => { console.error(error); process.exit(9); });
`;

export interface SandboxFixture {
  readonly dir: string;
  readonly provider: LocalProvider;
  readonly supervisorScript: string;
  readonly upFile: string;
  /** Requests that came through the door, as "<listener> <method> <url>". */
  readonly requests: string[];
  newPlan(options?: { limits?: Partial<SandboxLimits>; readOnlyWorkspace?: boolean; generation?: number }): SandboxPlan;
  /** Starts a sandbox whose runner runs `script`. */
  run(plan: SandboxPlan, script: string): ReturnType<LocalProvider['start']>;
  report(plan: SandboxPlan): Promise<unknown>;
  exit(plan: SandboxPlan): Promise<Extract<ReturnType<LocalProvider['look']>, { status: 'ended' | 'lost' }>>;
  close(): Promise<void>;
}

export const secretCanary = 'tool-token-canary';

/** Real sandboxes on this host: a bundled supervisor, two listeners behind the door, and a folder of mode 0700 around it all. */
export async function startSandboxFixture(): Promise<SandboxFixture> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-sandbox-'));
  const supervisorScript = path.join(dir, 'supervisor.js');
  buildSync({
    entryPoints: [path.join(__dirname, '../supervisor/main.ts')],
    outfile: supervisorScript,
    bundle: true,
    platform: 'node',
    target: 'node20',
    conditions: ['source'],
    logLevel: 'error',
  });
  const bundleDir = path.join(dir, 'bundle');
  fs.mkdirSync(bundleDir);
  fs.writeFileSync(path.join(bundleDir, 'main.js'), scriptRunner);
  const requests: string[] = [];
  const listeners = await Promise.all(['control', 'llm'].map((name) => listen(name, requests)));
  const upFile = path.join(dir, 'up.json');
  fs.writeFileSync(upFile, JSON.stringify({ control_url: listeners[0]?.url, llm_url: listeners[1]?.url }));
  const isRoot = process.getuid?.() === 0;
  const first = isRoot ? firstSandboxUid() : null;
  const host = checkHost(first, isRoot, process.env.PATH ?? '');
  if (!host.ok) throw new Error(host.reason);
  const node = executeOnlyNode(path.join(dir, 'node'));
  const provider = new LocalProvider(supervisorScript);
  const plans: SandboxPlan[] = [];
  return {
    dir,
    provider,
    supervisorScript,
    upFile,
    requests,
    newPlan: ({ limits, readOnlyWorkspace = false, generation = 1 } = {}) => {
      const runId = randomUUID();
      const runDir = path.join(dir, 'runs', runId);
      fs.mkdirSync(runFiles(runDir).workspace, { recursive: true });
      const uid = first === null ? null : uidForRun(runId, first, new Set());
      if (uid !== null) fs.chownSync(runFiles(runDir).workspace, uid, uid);
      const plan: SandboxPlan = {
        deploymentId: 'test',
        runId,
        generation,
        sandboxId: `local-${runId}-${generation}`,
        runDir,
        upFile,
        uid,
        bubblewrap: host.bubblewrap,
        node,
        bundleDir,
        binds: [],
        workspaceDir: runFiles(runDir).workspace,
        readOnlyWorkspace,
        environment: runnerEnvironment({
          runId,
          model: 'none',
          autonomy: 'supervised',
          trustTier: 'trusted',
          harnessEnvironment: { HARNESS_ROW: '1' },
          tools: false,
        }),
        limits: { memoryBytes: 1024 ** 3, pids: 256, cpus: 2, ...limits },
      };
      provider.writeLease(runDir, { generation, valid_until: new Date(Date.now() + 900_000).toISOString(), stop: false });
      plans.push(plan);
      return plan;
    },
    run: (plan, script) => provider.start(plan, { tool: secretCanary, control: 'c', llm: 'l', task: script }),
    report: (plan) => until(() => readReport(path.join(plan.workspaceDir, 'report.json'))),
    exit: (plan) =>
      until(() => {
        const state = provider.look(plan.runDir);
        return state.status === 'ended' || state.status === 'lost' ? state : undefined;
      }),
    close: async () => {
      for (const plan of plans) await provider.stop(plan.runDir);
      for (const { server } of listeners) server.close();
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
}

function readReport(file: string): unknown {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Waits for what another process does; there is no event of its own to await. */
export async function until<T>(look: () => T | undefined, msMax = 60_000): Promise<T> {
  const deadline = Date.now() + msMax;
  for (;;) {
    const value = look();
    if (value !== undefined) return value;
    if (Date.now() > deadline) throw new Error(`nothing happened within ${msMax} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function listen(name: string, requests: string[]): Promise<{ url: string; server: http.Server }> {
  const server = http.createServer((request, response) => {
    requests.push(`${name} ${request.method} ${request.url}`);
    response.end(`hello from ${name}`);
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, server });
    });
  });
}
