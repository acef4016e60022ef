import type { Bus } from '@fluidbox/bus';
import { type EventView, terminalStatuses } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import { readEvents } from './read-events';

export interface Watcher {
  /** Answers false when the client is gone or too slow; watching stops then and the client resumes by its last id. */
  send(event: EventView): Promise<boolean>;
  readonly closed: Promise<void>;
}

const pageSize = 200;
const isTerminal = (event: EventView): boolean =>
  event.type === 'run.result' && (terminalStatuses as readonly unknown[]).includes(event.data.outcome);

/**
 * Sends every event after `after`, then each new one as it is committed, and returns after the terminal event. The bus only wakes: what is
 * sent is read from the ledger in order, so a lost message delays an event until the next one and never loses it. Before each page it is
 * asked whether the watcher may still see the run: a stream outlives the token it was opened with.
 */
export async function watchRun(
  deps: { ledger: Ledger; bus: Bus; pollMs: number; mayGoOn: () => Promise<boolean> },
  org: string,
  runId: string,
  after: number,
  watcher: Watcher,
): Promise<void> {
  let wake: () => void = () => undefined;
  let gone = false;
  let newest = Number.POSITIVE_INFINITY;
  const subscription = deps.bus.followStream('run', org, runId, (message) => {
    newest = message.lastSeq;
    wake();
  });
  void watcher.closed.then(() => {
    gone = true;
    wake();
  });
  try {
    let cursor = after;
    while (!gone) {
      if (!(await deps.mayGoOn())) return;
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const events = await readEvents(deps.ledger, org, runId, { after: cursor, limit: pageSize });
      for (const event of events) {
        if (gone || !(await watcher.send(event))) return;
        cursor = event.seq;
        if (isTerminal(event)) return;
      }
      if (events.length === pageSize || (Number.isFinite(newest) && cursor < newest)) continue;
      await waitAtMost(woken, deps.pollMs);
    }
  } finally {
    await subscription.drain();
  }
}

/** A wake-up can be lost while NATS restarts, so each watcher also looks by itself now and then. */
async function waitAtMost(woken: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([
    woken,
    new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    }),
  ]);
  clearTimeout(timer);
}
