import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { type EventDraft, Problem, runStream } from '@fluidbox/contracts';
import { verifyChain } from '@fluidbox/event-store';
import { allOf, decision } from '../append-sides';
import { startServers } from '../support/servers';

export interface FullDiskReport {
  /** Events that were acknowledged before the disk was full. */
  readonly storedBefore: number;
  readonly code: string;
  readonly status: number;
  readonly refusedBy: string;
  readonly refusedMs: number;
  /** Events of the refused groups that are there. */
  readonly halfStored: number;
  readonly storedAfterwards: boolean;
  readonly chain: boolean;
}

const groupEvents = 50;
/** Room that somebody else takes, and gives back. */
const ballastBytes = 8 * 1024 * 1024;

/** The tables of the ledger on a small file system: filled by appends until it is full, then with room again. */
async function fillDisk(disk: string): Promise<FullDiskReport> {
  const servers = await startServers();
  try {
    const owner = await servers.connect();
    const space = path.join(disk, 'ledger');
    fs.mkdirSync(space, { mode: 0o777 });
    await owner.query(`create tablespace small location '${space}'`);
    for (const table of ['events', 'stream_heads', 'content']) await owner.query(`alter table ledger.${table} set tablespace small`);
    const ballast = path.join(disk, 'ballast');
    fs.writeFileSync(ballast, Buffer.alloc(ballastBytes));
    const gate = await servers.context('gate');
    const group = (): EventDraft[] => Array.from({ length: groupEvents }, (_, i) => decision(i));
    const stream = runStream(randomUUID(), 'default');
    let stored = 0;
    let refusal: Problem | null = null;
    let refusedMs = 0;
    while (refusal === null) {
      const asked = performance.now();
      try {
        await gate.ledger.record(stream, group());
        stored += groupEvents;
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        refusal = error;
        refusedMs = performance.now() - asked;
      }
    }
    const whole = async () => allOf(gate, stream);
    const halfStored = (await whole()).length - stored;
    fs.rmSync(ballast);
    const after = await gate.ledger.record(stream, group());
    const rows = await whole();
    return {
      storedBefore: stored,
      code: refusal.code,
      status: refusal.status,
      refusedBy: refusal.message,
      refusedMs,
      halfStored,
      storedAfterwards: after?.lastSeq === stored + groupEvents,
      chain: verifyChain(rows).ok,
    };
  } finally {
    await servers.stop();
  }
}

fillDisk(process.argv[2] ?? '').then(
  (report) => process.stdout.write(JSON.stringify(report), () => process.exit(0)),
  (error: unknown) => {
    process.stderr.write(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  },
);
