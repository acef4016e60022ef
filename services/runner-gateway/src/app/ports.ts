import type { Bus } from '@fluidbox/bus';
import type { PermissionAnswer, RequestOf, RequestPermission } from '@fluidbox/contracts';
import type { BlobStore, Clock, Ledger } from '@fluidbox/event-store';
import type { RunTokenVerifier } from '@fluidbox/seal';
import type { ParkedCalls } from './parked-calls';
import type { WakeUps } from './wake-ups';

export interface Ports {
  readonly bus: Bus;
  readonly ledger: Pick<Ledger, 'state'>;
  readonly clock: Clock;
  readonly tokens: RunTokenVerifier;
  readonly blobs: Pick<BlobStore, 'open' | 'has'>;
  readonly wakeUps: WakeUps;
  readonly parked: ParkedCalls;
  /** Told of a call whose answer had begun and that could not be asked about again. */
  readonly onCut: (error: unknown, question: Question) => void;
  /** How often a parked answer gets a space, so that nothing on the way takes the connection for dead. */
  readonly paddingMs: number;
}

/** A run token that was admitted. */
export interface Caller {
  readonly runId: string;
  readonly org: string;
  readonly generation: number;
}

export type Question = RequestOf<typeof RequestPermission>;

/** Where the answer to a permission call goes. */
export interface Outlet {
  /** Something was sent: it cannot become an error any more. */
  readonly begun: boolean;
  /** The gate has said that a person must decide. */
  begin(): void;
  end(answer: PermissionAnswer): void;
  /** Ends without an answer. */
  cut(): void;
  /** `listener` is called when the caller ends before its answer does. */
  onGone(listener: () => void): void;
}
