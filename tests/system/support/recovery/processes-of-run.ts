import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const RunFile = z.looseObject({ uid: z.number().int().nullable() });

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'latin1');
  } catch {
    return ''; // The process ended while we were looking, or is none of ours.
  }
}

/** Processes of this machine that belong to a run's sandbox: by the environment of its outer layer, and as root by the run's own uid. */
export function processesOfRun(home: string, runId: string): { pid: number; parent: number; command: string }[] {
  const runFile = read(path.join(home, 'runs', runId, 'run.json'));
  const uid = runFile === '' ? null : RunFile.parse(JSON.parse(runFile)).uid;
  return fs.readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const status = read(`/proc/${name}/status`);
    const ofUid = uid !== null && Number(/^Uid:\t(\d+)/m.exec(status)?.[1]) === uid;
    if (!ofUid && !read(`/proc/${name}/environ`).includes(`FLUIDBOX_SESSION_ID=${runId}\0`)) return [];
    if (/^State:\tZ/m.test(status) || hasLetGo(name)) return [];
    return [
      {
        pid: Number(name),
        parent: Number(/^PPid:\t(\d+)/m.exec(status)?.[1]),
        command: read(`/proc/${name}/cmdline`).replaceAll('\0', ' ').slice(0, 120),
      },
    ];
  });
}

/** A killed process that has given back its memory runs nothing any more, also while the kernel still lists it. */
function hasLetGo(pid: string): boolean {
  try {
    return fs.readlinkSync(`/proc/${pid}/exe`) === '';
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT';
  }
}

/** How many sandboxes of the run live: trees whose top has a parent outside the run. */
export function liveSandboxes(home: string, runId: string): number {
  const found = processesOfRun(home, runId);
  const pids = new Set(found.map(({ pid }) => pid));
  return found.filter(({ parent }) => !pids.has(parent)).length;
}

/** Looks several times a second how many sandboxes of the run live at once. */
export function watchSandboxes(home: string, runId: string): { most(): number; stop(): void } {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, liveSandboxes(home, runId));
  }, 150);
  return { most: () => most, stop: () => clearInterval(timer) };
}

/** The supervisor of a run, from its lock, while it lives. */
export function supervisorOf(home: string, runId: string): number | null {
  const lock = read(path.join(home, 'runs', runId, 'supervisor.json'));
  if (lock === '') return null;
  const { pid } = z.looseObject({ pid: z.number().int() }).parse(JSON.parse(lock));
  return read(`/proc/${pid}/cmdline`).includes('supervisor/main.js') ? pid : null;
}

/** Whether its supervisor said that the sandbox stands. */
export const sandboxStands = (home: string, runId: string): boolean => fs.existsSync(path.join(home, 'runs', runId, 'started.json'));
