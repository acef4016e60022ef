import fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

const established = '01';
const lookEveryMs = 50;
/** Other requests of a runner last milliseconds. */
const parkedMs = 1_000;

/** Local ports of the connections that somebody holds to a port of this machine. */
function connectionsTo(port: number): Set<string> {
  const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = fs.readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  const found = lines.map((line) => line.trim().split(/\s+/)).filter((row) => row[2] === remote && row[3] === established);
  return new Set(found.map((row) => row[1] ?? ''));
}

/** Waits until a runner's call is parked (again) at the control listener: one connection to it stays open. */
export async function untilCallIsParked(controlUrl: string, timeoutMs = 60_000): Promise<void> {
  const port = Number(new URL(controlUrl).port);
  const since = new Map<string, number>();
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    const open = connectionsTo(port);
    for (const known of since.keys()) if (!open.has(known)) since.delete(known);
    for (const each of open) if (!since.has(each)) since.set(each, Date.now());
    if ([...since.values()].some((at) => Date.now() - at > parkedMs)) return;
    await pause(lookEveryMs);
  }
  throw new Error(`no call was parked at ${controlUrl} within ${timeoutMs} ms`);
}
