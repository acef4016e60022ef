import type { Ledger } from '@fluidbox/event-store';
import type { Clock } from '@fluidbox/service-kit';
import type { FrozenRules } from '../domain/rules';

/** What the use cases of this service need from outside. */
export interface Ports {
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** The rules of a frozen spec, by its digest. */
  readonly rulesOf: (specDigest: string) => Promise<FrozenRules>;
}
