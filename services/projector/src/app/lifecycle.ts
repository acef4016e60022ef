import type { SignedHead } from './sign-checkpoint';

export const checkpointEveryMs = 5 * 60_000;
const lookEveryMs = 15_000;
/** How far back heads are witnessed again after a restart or an outage of the bus. */
const witnessAgainMs = 60 * 60_000;

export interface LifecyclePorts {
  readonly now: () => number;
  /** Finds the live runs again that an earlier process knew. */
  readonly recoverLiveRuns: () => Promise<void>;
  readonly signDue: () => Promise<void>;
  readonly checkpointsSince: (since: Date) => Promise<readonly SignedHead[]>;
  readonly witness: (head: SignedHead) => void;
  readonly onReconnect: (listener: () => void) => void;
  readonly onFailure: (doing: string, error: unknown) => void;
}

export function lifecycle(ports: LifecyclePorts): { start(): Promise<void>; stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const guarded = (doing: string, work: () => Promise<void>): Promise<void> =>
    work().catch((error: unknown) => ports.onFailure(doing, error));
  const witnessAgain = async (): Promise<void> => {
    for (const head of await ports.checkpointsSince(new Date(ports.now() - witnessAgainMs))) ports.witness(head);
  };
  return {
    async start() {
      await ports.recoverLiveRuns();
      await guarded('witnessing recent heads again', witnessAgain);
      ports.onReconnect(() => void guarded('witnessing recent heads again', witnessAgain));
      timer = setInterval(() => {
        running = running.then(() => guarded('signing the heads of live runs', ports.signDue));
      }, lookEveryMs);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
