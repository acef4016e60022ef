import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { FullDiskReport } from './full-disk-main';

const root = path.resolve(__dirname, '../../..');

/** A namespace of its own may mount a small file system, whoever we are; it is gone with the process. */
async function onSmallDisk(): Promise<FullDiskReport> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-full-disk-'));
  const disk = path.join(dir, 'disk');
  fs.mkdirSync(disk);
  const register = path.join(root, 'libs/tooling/process/register.cjs');
  const node = [process.execPath, '--conditions=source', '--require', register, path.join(__dirname, 'full-disk-main.ts'), disk];
  const mountAndRun = 'mount -t tmpfs -o size=24m,mode=777 tmpfs "$1" && shift && exec "$@"';
  const child = spawn('unshare', ['--user', '--map-root-user', '--mount', '--', 'sh', '-c', mountAndRun, 'sh', disk, ...node], {
    env: process.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  fs.rmSync(dir, { recursive: true, force: true });
  if (code !== 0) throw new Error(`ended with ${String(code)}:\n${stderr}`);
  return JSON.parse(stdout) as FullDiskReport;
}

describe('a disk that is really full', () => {
  it('refuses appends as `unavailable` (HTTP 503) instead of being tried again, stores nothing of them, and takes them when there is room again', async () => {
    const report = await onSmallDisk();
    expect(report.refusedBy).toContain('No space left on device');
    expect(report).toMatchObject({ code: 'unavailable', status: 503, halfStored: 0, storedAfterwards: true, chain: true });
    // What waits for a database is tried again for half a minute.
    expect(report.refusedMs).toBeLessThan(25_000);
    // There was room at first: it is the disk that refused.
    expect(report.storedBefore).toBeGreaterThan(10);
  });
});
