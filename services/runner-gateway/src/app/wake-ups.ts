import type { EventType, LogEvent, LogMessage } from '@fluidbox/contracts';
import { mentions } from '@fluidbox/service-kit';

/** What can settle one call that waits for a person, and what can settle all calls of a run. */
const settlingTypes: readonly EventType[] = ['approval.decided', 'tool.decision'];
const endingTypes: readonly EventType[] = ['session.status_changed'];

/** A call that waits, or that is asked about just now. */
interface Waiter {
  ring(): void;
}

/**
 * Parked calls by run and call id. Fed by the process's one subscription to the log of all runs, which exists before the first call is asked about. A
 * settlement wakes the calls that it is about and no others: a run may wait for hundreds.
 */
export class WakeUps {
  private readonly byRun = new Map<string, Map<string, Waiter[]>>();
  private readonly counts = new Map<string, number>();

  /** From now on the waiter is rung for whenever the run's log speaks of something that may settle the call. */
  watch(runId: string, toolCallId: string, waiter: Waiter): void {
    const calls = this.byRun.get(runId) ?? new Map<string, Waiter[]>();
    this.byRun.set(runId, calls);
    // Nearly always the only one: a list of one takes a fifth of the memory of a set.
    calls.set(toolCallId, [...(calls.get(toolCallId) ?? []), waiter]);
    this.counts.set(runId, this.waiting(runId) + 1);
  }

  unwatch(runId: string, toolCallId: string, waiter: Waiter): void {
    const calls = this.byRun.get(runId);
    const waiters = calls?.get(toolCallId);
    if (calls === undefined || waiters?.includes(waiter) !== true) return;
    const others = waiters.filter((each) => each !== waiter);
    if (others.length > 0) calls.set(toolCallId, others);
    else calls.delete(toolCallId);
    const left = this.waiting(runId) - 1;
    if (left > 0) this.counts.set(runId, left);
    else {
      this.counts.delete(runId);
      this.byRun.delete(runId);
    }
  }

  waiting(runId: string): number {
    return this.counts.get(runId) ?? 0;
  }

  onLog(message: LogMessage): void {
    const calls = this.byRun.get(message.id);
    if (calls === undefined || message.category !== 'run' || !mentions(message, [...settlingTypes, ...endingTypes])) return;
    if (message.events === null || mentions(message, endingTypes)) {
      ringEach(calls.values());
      return;
    }
    for (const event of message.events) {
      const toolCallId = settledCall(event);
      const waiters = toolCallId === null ? undefined : calls.get(toolCallId);
      if (waiters !== undefined) ringEach([waiters]);
    }
  }

  /** After an outage of the bus anything may have been missed. */
  wakeAll(): void {
    for (const calls of [...this.byRun.values()]) ringEach(calls.values());
  }
}

/** Lists are replaced, never changed; the map they stand in may change while it is walked. */
function ringEach(waiters: Iterable<readonly Waiter[]>): void {
  for (const each of [...waiters].flat()) each.ring();
}

function settledCall({ body }: LogEvent): string | null {
  if (!settlingTypes.some((type) => body.includes(`"type":"${type}"`))) return null;
  const { data } = JSON.parse(body) as { data?: { tool_call_id?: unknown } };
  return typeof data?.tool_call_id === 'string' ? data.tool_call_id : null;
}
