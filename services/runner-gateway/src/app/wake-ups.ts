import type { EventType, LogMessage } from '@fluidbox/contracts';
import { mentions } from '@fluidbox/service-kit';

/** What can settle a call that waits for a person. */
const settlingTypes: readonly EventType[] = ['approval.decided', 'tool.decision', 'session.status_changed'];

/** Parked calls by run. Fed by the process's one subscription to the log of all runs, which exists before the first call is asked about. */
export class WakeUps {
  private readonly byRun = new Map<string, Set<() => void>>();

  /** From now on `wake` is called whenever the run's log speaks of something that may settle a call; ends with the returned function. */
  watch(runId: string, wake: () => void): () => void {
    const watchers = this.byRun.get(runId) ?? new Set();
    this.byRun.set(runId, watchers);
    watchers.add(wake);
    return () => {
      watchers.delete(wake);
      if (watchers.size === 0) this.byRun.delete(runId);
    };
  }

  watchers(runId: string): number {
    return this.byRun.get(runId)?.size ?? 0;
  }

  onLog(message: LogMessage): void {
    const watchers = this.byRun.get(message.id);
    if (watchers === undefined || message.category !== 'run' || !mentions(message, settlingTypes)) return;
    for (const wake of [...watchers]) wake();
  }

  /** After an outage of the bus anything may have been missed. */
  wakeAll(): void {
    for (const watchers of [...this.byRun.values()]) for (const wake of [...watchers]) wake();
  }
}
