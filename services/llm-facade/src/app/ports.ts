import type { RunSpec, StreamRef } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import type { RunTokenVerifier } from '@fluidbox/seal';
import type { Clock, Ids } from '@fluidbox/service-kit';
import type { Account, LimitedAccount } from '../domain/accounts';
import type { DialectId } from '../domain/dialect';
import type { RecentLimits } from './recent-limits';
import type { ReservationQueue } from './reservation-queue';

export interface Ports {
  readonly ledger: Ledger;
  readonly tokens: RunTokenVerifier;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly specOf: (digest: string) => Promise<RunSpec>;
  /** By dialect: the providers of which this deployment has a key. */
  readonly upstreams: ReadonlyMap<DialectId, Upstream>;
  readonly queue: ReservationQueue;
  /** Streams of runs that may still have open reservations. */
  readonly openRuns: () => Promise<readonly StreamRef[]>;
  readonly accounts: BudgetAccounts;
  /** What to warn of. */
  readonly recentLimits: RecentLimits;
  readonly log: FacadeLog;
  readonly settings: Settings;
}

/** Accounts that several runs spend from. What a reservation or a settlement does to them is part of its append and not here. */
export interface BudgetAccounts {
  /** Those of a run's four accounts that have a limit, as they stand. */
  limitedOf(org: string, agent: string, month: string): Promise<readonly LimitedAccount[]>;
  list(org: string, month: string): Promise<readonly Account[]>;
  /** `period`: `total`, or `month` for this month and every later one. Answers the account that counts now. */
  setLimit(limit: {
    readonly org: string;
    readonly scope: string;
    readonly period: 'total' | 'month';
    readonly month: string;
    readonly limitMicroUsd: number | null;
    readonly by: string;
  }): Promise<Account>;
  /** What a request really cost beyond (or below) what its ended run was charged. Once per reservation. */
  correct(correction: {
    readonly reservationId: string;
    readonly runId: string;
    readonly org: string;
    readonly agent: string;
    readonly month: string;
    readonly costMicroUsd: number;
  }): Promise<void>;
}

export interface Settings {
  /** How long a request waits for budget that others hold. */
  readonly reservationWaitMs: number;
  readonly bodyBytesMax: number;
  /** How long a request that cannot be booked is held while the ledger is away. */
  readonly bookingPatienceMs: number;
}

export interface FacadeLog {
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** The model provider. */
export interface Upstream {
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
  close(): Promise<void>;
}
export interface UpstreamRequest {
  /** Below the provider's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Any of them ends the request, also in the middle of its answer. */
  readonly givenUp: readonly AbortSignal[];
}
export interface UpstreamAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Those that a runner may see. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Gives the answer to `take` as it comes; the next piece waits for what `take` returns. Resolves at the end, and after `discard`; rejects when the
   * answer broke off or `take` failed, behind everything that came before. Once.
   */
  read(take: (bytes: Buffer) => Promise<void> | undefined): Promise<void>;
  /** Ends the request; instead of reading, or in the middle. */
  discard(): void;
}
/** Why there is no answer. `sent`: the provider may have begun to work, and to charge. */
export class UpstreamFailed extends Error {
  constructor(
    readonly sent: boolean,
    message: string,
    options: { cause: unknown },
  ) {
    super(message, options);
    this.name = 'UpstreamFailed';
  }
}

/** One request of a runner and its answer, without HTTP's details. */
export interface Exchange {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readBody(bytesMax: number): Promise<Buffer | 'too_large'>;
  /** Aborted when the runner hung up. */
  readonly hungUp: AbortSignal;
  /** Begins an answer that comes in pieces: the head goes out at once. */
  head(status: number, headers: Readonly<Record<string, string>>): void;
  /** A whole answer, in one write. */
  send(status: number, headers: Readonly<Record<string, string>>, body: Buffer): void;
  /** A promise when the runner's connection is full: resolves when it takes more. */
  write(chunk: Buffer): Promise<void> | undefined;
  end(): void;
  /** Cuts the connection: the runner sees an incomplete answer. */
  cut(): void;
}
