import type { FreezeRunSpec, ReplyOf, RequestOf } from '@fluidbox/contracts';
import type { BlobStore, Ledger } from '@fluidbox/event-store';
import type { RunTokenGrant } from '@fluidbox/seal';
import type { Clock, Ids } from '@fluidbox/service-kit';
import type { ErasureTable } from './erase-content';
import type { Heartbeats } from './heartbeats';

/** What the use cases of this service need from outside. */
export interface Ports {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly freeze: (request: RequestOf<typeof FreezeRunSpec>) => Promise<ReplyOf<typeof FreezeRunSpec>>;
  readonly signToken: (grant: RunTokenGrant) => Promise<string>;
  readonly heartbeats: Heartbeats;
  readonly erasures: ErasureTable;
  readonly blobs: Pick<BlobStore, 'remove'>;
  /** Silence of a runner in `running` after which its sandbox is ended. */
  readonly heartbeatSilenceMs: number;
}
