import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { SandboxLimits } from '../../domain/sandbox-plan';
import { isErrno } from '../files';

export type LimitKind = 'cgroup2' | 'cgroup1' | 'rlimit';

/** The control groups of one sandbox. `folders` is what must be emptied and removed at the end. */
export interface SandboxGroups {
  readonly kind: LimitKind;
  /** The launcher writes its own pid into each before it starts anything. */
  readonly procsFiles: readonly string[];
  readonly folders: readonly string[];
}

const v1Controllers = ['memory', 'pids', 'cpu', 'freezer'] as const;
const v2Controllers = ['memory', 'pids', 'cpu'] as const;
const cpuPeriodUs = 100_000;

const systemRoot = '/sys/fs/cgroup';

/** Groups are made in our own parent folder, so that what others made is left alone. */
const parentName = 'fluidbox';

/**
 * Makes the groups of one sandbox: v2 where it has the controllers, else v1 (with the unified hierarchy beside it, for
 * `cgroup.kill`), else none and `rlimit` says so. `root` is a parameter for tests.
 */
export function createGroups(name: string, limits: SandboxLimits, root = systemRoot): SandboxGroups {
  return createV2(name, limits, root) ?? createV1(name, limits, root) ?? { kind: 'rlimit', procsFiles: [], folders: [] };
}

function createV2(name: string, limits: SandboxLimits, root: string): SandboxGroups | null {
  const controllers = readWords(path.join(root, 'cgroup.controllers'));
  if (!v2Controllers.every((controller) => controllers.includes(controller))) return null;
  const parent = path.join(root, parentName);
  const folder = path.join(parent, name);
  try {
    enableControllers(root);
    fs.mkdirSync(parent, { recursive: true });
    enableControllers(parent);
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'memory.max'), String(limits.memoryBytes));
    fs.writeFileSync(path.join(folder, 'pids.max'), String(limits.pids));
    fs.writeFileSync(path.join(folder, 'cpu.max'), `${Math.round(limits.cpus * cpuPeriodUs)} ${cpuPeriodUs}`);
    writeIfPresent(path.join(folder, 'memory.swap.max'), '0');
    return { kind: 'cgroup2', procsFiles: [path.join(folder, 'cgroup.procs')], folders: [folder] };
  } catch (error) {
    return notPermitted(error, [folder]);
  }
}

function enableControllers(folder: string): void {
  const enabled = readWords(path.join(folder, 'cgroup.subtree_control'));
  const missing = v2Controllers.filter((controller) => !enabled.includes(controller));
  if (missing.length > 0)
    fs.writeFileSync(path.join(folder, 'cgroup.subtree_control'), missing.map((controller) => `+${controller}`).join(' '));
}

function createV1(name: string, limits: SandboxLimits, root: string): SandboxGroups | null {
  const hierarchies = v1Controllers.map((controller) => path.join(root, controller));
  if (!hierarchies.every((hierarchy) => fs.existsSync(path.join(hierarchy, 'cgroup.procs')))) return null;
  const unified = path.join(root, 'unified');
  const folders = [...hierarchies, ...(fs.existsSync(path.join(unified, 'cgroup.procs')) ? [unified] : [])].map((hierarchy) =>
    path.join(hierarchy, parentName, name),
  );
  const [memory, pids, cpu] = folders;
  if (memory === undefined || pids === undefined || cpu === undefined) return null;
  try {
    for (const folder of folders) fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(memory, 'memory.limit_in_bytes'), String(limits.memoryBytes));
    // Swap counts too, or the memory limit only moves pages to disk. Kernels without swap accounting lack the file.
    writeIfPresent(path.join(memory, 'memory.memsw.limit_in_bytes'), String(limits.memoryBytes));
    fs.writeFileSync(path.join(pids, 'pids.max'), String(limits.pids));
    fs.writeFileSync(path.join(cpu, 'cpu.cfs_period_us'), String(cpuPeriodUs));
    fs.writeFileSync(path.join(cpu, 'cpu.cfs_quota_us'), String(Math.round(limits.cpus * cpuPeriodUs)));
    return { kind: 'cgroup1', procsFiles: folders.map((folder) => path.join(folder, 'cgroup.procs')), folders };
  } catch (error) {
    return notPermitted(error, folders);
  }
}

/** Not allowed or not possible here means "try the next kind"; anything else is a bug and must be seen. */
function notPermitted(error: unknown, folders: readonly string[]): null {
  if (!isErrno(error, 'EACCES', 'EPERM', 'EROFS', 'EBUSY', 'ENOENT', 'EINVAL', 'EOPNOTSUPP')) throw error;
  for (const folder of folders) removeFolder(folder);
  return null;
}

/** The nearest thing to limits where groups cannot be had: per process, not per sandbox. Arguments of prlimit. */
export function rlimitArgs(kind: LimitKind, limits: SandboxLimits): string[] {
  return kind === 'rlimit' ? [`--data=${limits.memoryBytes}`, `--nproc=${limits.pids}`] : [];
}

/** Kills every process of the groups at once: `cgroup.kill`, else freeze, kill each, thaw, so that none can fork away. */
export function killGroups(folders: readonly string[]): void {
  const killer = folders.map((folder) => path.join(folder, 'cgroup.kill')).find((file) => fs.existsSync(file));
  if (killer !== undefined && writeIfPresent(killer, '1')) return;
  const freezer = folders.map((folder) => path.join(folder, 'freezer.state')).find((file) => fs.existsSync(file));
  if (freezer !== undefined) writeIfPresent(freezer, 'FROZEN');
  for (const pid of pidsOf(folders)) killProcess(pid);
  if (freezer !== undefined) writeIfPresent(freezer, 'THAWED');
}

export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!isErrno(error, 'ESRCH')) throw error;
  }
}

export const pidsOf = (folders: readonly string[]): number[] => [
  ...new Set(folders.flatMap((folder) => readWords(path.join(folder, 'cgroup.procs')).map(Number))),
];

/** Kills until nothing is left and removes the folders. A zombie can hold a group for a moment, so removal is tried for 5 s. */
export async function endGroups(folders: readonly string[]): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    killGroups(folders);
    const left = folders.filter((folder) => !removeFolder(folder));
    if (left.length === 0) return;
    await pause(50);
  }
  throw new Error(`control groups could not be emptied: ${folders.join(', ')}`);
}

export const groupName = (deploymentId: string, runId: string): string => `${deploymentId}-${runId}`;

/** Every folder that the groups of sandboxes have, with the name of the group. */
export function groupFolders(root = systemRoot): readonly { readonly name: string; readonly folder: string }[] {
  return ['', ...v1Controllers, 'unified']
    .map((hierarchy) => path.join(root, hierarchy, parentName))
    .filter((parent) => fs.existsSync(parent))
    .flatMap((parent) => fs.readdirSync(parent).map((name) => ({ name, folder: path.join(parent, name) })));
}

/**
 * Removes what a supervisor that was ended from outside left behind, of this deployment only and where nothing lives in it. A supervisor that
 * is just starting has an empty group, too: `isSupervised` says which runs to leave alone.
 */
export function removeEmptyGroups(deploymentId: string, isSupervised: (runId: string) => boolean, root = systemRoot): void {
  const prefix = groupName(deploymentId, '');
  for (const { name, folder } of groupFolders(root)) {
    const runId = name.slice(prefix.length);
    if (name.startsWith(prefix) && uuid.test(runId) && !isSupervised(runId)) removeFolder(folder);
  }
}

// The whole rest of the name: the id of another deployment may begin with ours.
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function removeFolder(folder: string): boolean {
  try {
    fs.rmdirSync(folder);
    return true;
  } catch (error) {
    return isErrno(error, 'ENOENT');
  }
}

function readWords(file: string): string[] {
  try {
    return fs.readFileSync(file, 'utf8').split(/\s+/).filter(Boolean);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return [];
    throw error;
  }
}

function writeIfPresent(file: string, text: string): boolean {
  try {
    if (!fs.existsSync(file)) return false;
    fs.writeFileSync(file, text);
    return true;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EINVAL', 'ENODEV', 'EOPNOTSUPP')) return false;
    throw error;
  }
}
