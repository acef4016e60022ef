import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunnerSecrets } from '@fluidbox/contracts';
import { holderOf } from '@fluidbox/tooling/pid-lock';
import type { SandboxPlan } from '../../domain/sandbox-plan';
import type { SandboxState } from '../../domain/sandbox-state';
import { ExitFile, LeaseFile, StartedFile } from '../../domain/supervision';
import { readJsonFile, runFiles, writeFileAtomically } from '../files';
import { endGroups, groupFolders, killProcess, pidsOf, removeEmptyGroups } from './cgroups';
import { launcherEnvironment } from './launcher';

const pollMs = 20;
const startMsMax = 30_000;
const stopMsMax = 15_000;

/** Sandboxes on this host, each under a supervisor of its own. All state is in the run's folder, so a restart loses nothing. */
export class LocalProvider {
  constructor(private readonly supervisorScript: string) {}

  /** Starts a detached supervisor and waits until the sandbox stands or has failed. The lease file must be written before. */
  async start(plan: SandboxPlan, secrets: RunnerSecrets): Promise<SandboxState> {
    const files = runFiles(plan.runDir);
    fs.mkdirSync(files.door, { recursive: true });
    fs.chmodSync(files.door, 0o755);
    const log = fs.openSync(files.supervisorLog, 'a', 0o600);
    // Its own session: Ctrl-C in the terminal of `up` must not reach it.
    const child = spawn(process.execPath, [this.supervisorScript], {
      cwd: '/',
      env: launcherEnvironment,
      detached: true,
      stdio: ['pipe', log, log],
    });
    fs.closeSync(log);
    child.unref();
    let over: string | null = null;
    child.once('error', (error) => {
      over = error.message;
    });
    child.once('exit', (code, signal) => {
      over = `the supervisor ended early (${signal ?? `exit ${code}`}), see ${files.supervisorLog}`;
    });
    child.stdin?.on('error', (error) => {
      over ??= error.message;
    });
    child.stdin?.end(JSON.stringify({ plan, secrets }));
    const deadline = Date.now() + startMsMax;
    while (Date.now() < deadline) {
      const state = this.look(plan.runDir);
      if (
        (state.status === 'live' && state.generation === plan.generation) ||
        (state.status === 'ended' && state.exit.generation === plan.generation)
      )
        return state;
      if (over !== null) return failed(plan, over);
      await pause(pollMs);
    }
    await this.stop(plan.runDir);
    return failed(plan, `the sandbox did not start within ${startMsMax / 1000} s`);
  }

  look(runDir: string): SandboxState {
    const files = runFiles(runDir);
    const holder = holderOf(files.supervisor) as (ReturnType<typeof holderOf> & { generation?: number }) | undefined;
    const started = readJsonFile(files.started, StartedFile);
    if (holder !== undefined) {
      const generation = holder.generation ?? 0;
      return started?.generation === generation
        ? { status: 'live', generation, pid: holder.pid, started }
        : { status: 'starting', generation, pid: holder.pid };
    }
    const exit = readJsonFile(files.exit, ExitFile);
    if (exit !== null) return { status: 'ended', exit };
    return started === null ? { status: 'none' } : { status: 'lost', generation: started.generation, sandboxId: started.sandbox_id };
  }

  /** Never lowers a generation: a late `lease.granted` of an older one must not end the newer sandbox. */
  writeLease(runDir: string, lease: LeaseFile): void {
    const file = runFiles(runDir).lease;
    const current = readJsonFile(file, LeaseFile);
    if (current !== null && (current.generation > lease.generation || (current.generation === lease.generation && current.stop))) return;
    writeFileAtomically(file, JSON.stringify(lease));
  }

  /** Ends the sandbox and answers when nothing of it lives. A supervisor that does not obey is killed, and its tree with it. */
  async stop(runDir: string): Promise<SandboxState> {
    const files = runFiles(runDir);
    const lease = readJsonFile(files.lease, LeaseFile);
    writeFileAtomically(
      files.lease,
      JSON.stringify({ generation: lease?.generation ?? 0, valid_until: lease?.valid_until ?? new Date(0).toISOString(), stop: true }),
    );
    const deadline = Date.now() + stopMsMax;
    for (;;) {
      const state = this.look(runDir);
      if (state.status === 'ended' || state.status === 'none') return state;
      if (state.status === 'lost') {
        await this.#sweep(runDir);
        return state;
      }
      if (Date.now() > deadline) killProcess(state.pid);
      await pause(pollMs);
    }
  }

  /** For the start of the service: the groups of this deployment whose supervisor is gone and in which nothing lives. */
  removeLeftGroups(deploymentId: string, runsDir: string): void {
    removeEmptyGroups(deploymentId, (runId) => {
      const { status } = this.look(path.join(runsDir, runId));
      return status === 'live' || status === 'starting';
    });
  }

  /** After a lost supervisor the death signal has ended the tree; this makes sure and removes its groups. */
  async #sweep(runDir: string): Promise<void> {
    const id = path.basename(runDir);
    const folders = groupFolders()
      .filter(({ name }) => name.endsWith(id))
      .map(({ folder }) => folder);
    for (const pid of pidsOf(folders)) killProcess(pid);
    await endGroups(folders);
  }
}

const failed = (plan: SandboxPlan, reason: string): SandboxState => ({
  status: 'ended',
  exit: { generation: plan.generation, sandbox_id: plan.sandboxId, cause: 'failed', exit_code: null, signal: null, stderr_tail: reason },
});
