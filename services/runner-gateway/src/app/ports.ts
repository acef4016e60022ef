import type { Bus } from '@fluidbox/bus';
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
  /** How often a parked answer gets a space, so that nothing on the way takes the connection for dead. */
  readonly paddingMs: number;
}

/** A run token that was admitted. */
export interface Caller {
  readonly runId: string;
  readonly org: string;
  readonly generation: number;
}
