import { randomUUID } from 'node:crypto';
import { type EventDraft, runStream, type StreamRef } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import type { ServiceContext } from '@fluidbox/service-kit';
import { decision } from '../append-sides';
import { callOf } from '../rebuild/log';

const groupEvents = 500;

/** A run with so many events, appended as services append. */
export async function runOf(gate: ServiceContext, events: number): Promise<StreamRef> {
  const stream = runStream(randomUUID(), 'default');
  for (let stored = 0; stored < events; stored += groupEvents) {
    const drafts: EventDraft[] = Array.from({ length: Math.min(groupEvents, events - stored) }, (_, i) => decision(stored + i));
    await gate.ledger.record(stream, drafts);
  }
  return stream;
}

/** A run of so many calls, each an event with its decision. */
export async function runOfCalls(ledger: Pick<Ledger, 'record'>, calls: number): Promise<StreamRef> {
  const stream = runStream(randomUUID(), 'default');
  for (let stored = 0; stored < calls; stored += groupEvents / 2) {
    const group = Array.from({ length: Math.min(groupEvents / 2, calls - stored) }, (_, i) => callOf(stored + i));
    await ledger.record(stream, group.flat());
  }
  return stream;
}

export async function millis(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Of many, the median: the machine has its own moments. */
export async function medianMillis(times: number, work: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let i = 0; i < times; i += 1) taken.push(await millis(work));
  return taken.sort((a, b) => a - b)[times >> 1] ?? Number.NaN;
}
