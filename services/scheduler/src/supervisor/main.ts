import fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { tryLock } from '@fluidbox/tooling/pid-lock';
import { z } from 'zod';
import { readJsonFile, runFiles, writeFileAtomically } from '../adapters/files';
import type { LimitKind } from '../adapters/local/cgroups';
import { SandboxPlan } from '../domain/sandbox-plan';
import { type ExitCause, type ExitFile, LeaseFile, reasonToEnd, type StartedFile } from '../domain/supervision';
import { openDoor, targetsFromUpFile } from './door';
import { type SandboxProcess, startSandbox } from './sandbox-process';
import { watchLease } from './watch-lease';

/**
 * The supervisor of one sandbox: a process of its own, so that a scheduler that restarts does not touch runs. It holds the run's lock
 * (`supervisor.json`: pid and start time), so there is never a second sandbox; owns the door; ends the whole tree when `lease.json`
 * says so; writes `exit.json` last. If it is killed, the death signal ends the sandbox and the scheduler sees a lock without a holder.
 *
 * Plan and secrets arrive as one JSON on standard input, never by environment or argument.
 */
const Input = z.strictObject({ plan: SandboxPlan, secrets: z.record(z.string(), z.unknown()) });

const lockAttempts = 100;
const lockPauseMs = 100;

async function main(): Promise<number> {
  const { plan, secrets } = Input.parse(JSON.parse(fs.readFileSync(0, 'utf8')));
  fs.closeSync(0);
  const files = runFiles(plan.runDir);
  const lock = await takeLock(files.supervisor, {
    generation: plan.generation,
    sandbox_id: plan.sandboxId,
    deployment_id: plan.deploymentId,
  });
  if (lock === null) return 1;
  // A newer scheduler may have asked for the next generation while this process was starting.
  if (reasonToEnd(readJsonFile(files.lease, LeaseFile), plan.generation, Date.now()) !== null) {
    lock.release();
    return 1;
  }
  fs.rmSync(files.started, { force: true });
  fs.rmSync(files.exit, { force: true });
  const exit = await supervise(plan, JSON.stringify(secrets));
  writeFileAtomically(files.exit, JSON.stringify(exit));
  lock.release();
  return 0;
}

async function supervise(plan: SandboxPlan, secretsLine: string): Promise<ExitFile> {
  const files = runFiles(plan.runDir);
  const result = (cause: ExitCause, stderr: string, exitCode: number | null = null, signal: string | null = null): ExitFile => ({
    generation: plan.generation,
    sandbox_id: plan.sandboxId,
    cause,
    exit_code: exitCode,
    signal,
    stderr_tail: stderr,
  });
  const open: Array<{ close(): void }> = [];
  let sandbox: SandboxProcess | null = null;
  let ended: 'stopped' | 'lease_dead' | null = null;
  try {
    open.push(await openDoor(files.door, plan.uid, targetsFromUpFile(plan.upFile)));
    const started = await startSandbox(plan, secretsLine);
    sandbox = started;
    open.push(
      watchLease(files.lease, plan.generation, (reason) => {
        ended = reason;
        started.end();
      }),
    );
    const initPid = await started.standing;
    if (initPid !== null) writeFileAtomically(files.started, JSON.stringify(startedFile(plan, initPid, started.groups.kind)));
    const { exitCode, signal } = await started.exit;
    return result(ended ?? (initPid === null ? 'failed' : 'exited'), started.tail.text(), exitCode, signal);
  } catch (error) {
    return result('failed', error instanceof Error ? error.message : String(error));
  } finally {
    for (const each of open) each.close();
    sandbox?.end();
    await sandbox?.gone();
  }
}

const startedFile = (plan: SandboxPlan, initPid: number, limits: LimitKind): StartedFile => ({
  generation: plan.generation,
  sandbox_id: plan.sandboxId,
  init_pid: initPid,
  // Namespaces, filter and uid are conditions of starting at all; only the limits have a lesser form.
  isolation: { namespaces: true, seccomp: true, unprivileged_uid: true, limits },
});

/** An older supervisor of this run sees the new generation in the lease file and ends; until then this one waits. */
async function takeLock(file: string, info: Readonly<Record<string, unknown>>): Promise<{ release(): void } | null> {
  for (let attempt = 0; attempt < lockAttempts; attempt++) {
    const { release } = tryLock(file, info);
    if (release !== undefined) return { release };
    await pause(lockPauseMs);
  }
  return null;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
