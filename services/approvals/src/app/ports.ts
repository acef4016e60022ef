import type { EvaluateEdit, ReplyOf, RequestOf } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import type { Clock } from '@fluidbox/service-kit';

/** What the use cases of this service need from outside. */
export interface Ports {
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Would the gate deny the edited input? Appends nothing. */
  readonly evaluateEdit: (request: RequestOf<typeof EvaluateEdit>) => Promise<ReplyOf<typeof EvaluateEdit>>;
}
