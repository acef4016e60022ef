import type { SessionView } from '@fluidbox/contracts';
import type { Cursor } from '../domain/cursor';

/** Lists come from the projector's tables, which follow the log by milliseconds; a single run is always read from its stream. */
export interface ReadModels {
  sessions(filter: {
    org: string;
    invokedBy: string | null;
    status: string | null;
    before: Cursor | null;
    limit: number;
  }): Promise<readonly SessionView[]>;
  /** `invokedBy`: only those of runs that this principal started; a cursor must not name what its reader may not see. */
  pendingApprovals(filter: {
    org: string;
    invokedBy: string | null;
    before: Cursor | null;
    limit: number;
  }): Promise<readonly PendingApproval[]>;
}
/** Where a pending approval stands; what it says is read from the run's stream. */
export interface PendingApproval {
  readonly runId: string;
  readonly toolCallId: string;
  readonly requestedAt: string;
}
