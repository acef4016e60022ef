import type { EventType, LogEvent, LogMessage } from '@fluidbox/contracts';
import { mentions } from '@fluidbox/service-kit';

/** What can settle one call that waits for a person, and what can settle all calls of a run. */
const settlingTypes: readonly EventType[] = ['approval.decided', 'tool.decision'];
const endingTypes: readonly EventType[] = ['session.status_changed'];

type Wake = () => void;

/**
 * Parked calls by run and call id. Fed by the process's one subscription to the log of all runs, which exists before the first call is asked about. A
 * settlement wakes the calls that it is about and no others: a run may wait for hundreds.
 */
export class WakeUps {
  private readonly byRun = new Map<string, Map<string, Set<Wake>>>();
  private readonly counts = new Map<string, number>();

  /** From now on `wake` is called whenever the run's log speaks of something that may settle the call; ends with the returned function. */
  watch(runId: string, toolCallId: string, wake: Wake): () => void {
    const calls = this.byRun.get(runId) ?? new Map<string, Set<Wake>>();
    this.byRun.set(runId, calls);
    const watchers = calls.get(toolCallId) ?? new Set();
    calls.set(toolCallId, watchers);
    watchers.add(wake);
    this.counts.set(runId, this.watchers(runId) + 1);
    return () => {
      if (!watchers.delete(wake)) return;
      if (watchers.size === 0) calls.delete(toolCallId);
      const left = this.watchers(runId) - 1;
      if (left > 0) this.counts.set(runId, left);
      else {
        this.counts.delete(runId);
        this.byRun.delete(runId);
      }
    };
  }

  watchers(runId: string): number {
    return this.counts.get(runId) ?? 0;
  }

  onLog(message: LogMessage): void {
    const calls = this.byRun.get(message.id);
    if (calls === undefined || message.category !== 'run' || !mentions(message, [...settlingTypes, ...endingTypes])) return;
    if (message.events === null || mentions(message, endingTypes)) {
      wakeEach(calls.values());
      return;
    }
    for (const event of message.events) {
      const toolCallId = settledCall(event);
      const watchers = toolCallId === null ? undefined : calls.get(toolCallId);
      if (watchers !== undefined) wakeEach([watchers]);
    }
  }

  /** After an outage of the bus anything may have been missed. */
  wakeAll(): void {
    for (const calls of [...this.byRun.values()]) wakeEach(calls.values());
  }
}

function wakeEach(watchers: Iterable<ReadonlySet<Wake>>): void {
  for (const wakes of [...watchers]) for (const wake of [...wakes]) wake();
}

function settledCall({ body }: LogEvent): string | null {
  if (!settlingTypes.some((type) => body.includes(`"type":"${type}"`))) return null;
  const { data } = JSON.parse(body) as { data?: { tool_call_id?: unknown } };
  return typeof data?.tool_call_id === 'string' ? data.tool_call_id : null;
}
