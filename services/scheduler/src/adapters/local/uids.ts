import { createHash } from 'node:crypto';
import fs from 'node:fs';

const uidsMax = 100_000;

/** The first host uid of sandboxes: high enough that no account has it. Inside a container only some uids exist. */
export function firstSandboxUid(uidMap: string = fs.readFileSync('/proc/self/uid_map', 'utf8')): number | null {
  const ranges = uidMap
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const fits = (first: number, count: number): boolean =>
    ranges.some(([inside = 0, , length = 0]) => inside <= first && first + count <= inside + length);
  return fits(200_000, uidsMax) ? 200_000 : fits(30_000, 30_000) ? 30_000 : null;
}

/**
 * A uid of its own for each run: processes of two runs share neither keyrings nor process limits. Derived from the run, so that two
 * deployments on one host rarely meet; `taken` holds the uids of live runs here.
 */
export function uidForRun(runId: string, first: number, taken: ReadonlySet<number>): number {
  const count = first === 200_000 ? uidsMax : 30_000;
  const start = createHash('sha256').update(runId).digest().readUInt32BE(0) % count;
  for (let step = 0; step < count; step++) {
    const uid = first + ((start + step) % count);
    if (!taken.has(uid)) return uid;
  }
  throw new Error('no free uid is left for a sandbox');
}
