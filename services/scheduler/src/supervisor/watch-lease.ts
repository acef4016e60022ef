import fs from 'node:fs';
import path from 'node:path';
import { readJsonFile } from '../adapters/files';
import { LeaseFile, reasonToEnd } from '../domain/supervision';

const pollMs = 1_000;

/** Calls `end` once, when the lease file says so. fs.watch is quick, the poll is sure (and sees time pass). */
export function watchLease(file: string, generation: number, end: (reason: 'stopped' | 'lease_dead') => void): { close(): void } {
  let lease: LeaseFile | null = null;
  let ended = false;
  const look = (): void => {
    lease = readJsonFile(file, LeaseFile) ?? lease;
    const reason = reasonToEnd(lease, generation, Date.now());
    if (reason === null || ended) return;
    ended = true;
    end(reason);
  };
  const watcher = fs.watch(path.dirname(file), (_event, name) => {
    if (name === path.basename(file)) look();
  });
  // A watcher that fails leaves the poll.
  watcher.on('error', () => watcher.close());
  const timer = setInterval(look, pollMs);
  look();
  return {
    close: () => {
      watcher.close();
      clearInterval(timer);
    },
  };
}
