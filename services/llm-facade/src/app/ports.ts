import type { RunSpec, StreamRef } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import type { RunTokenVerifier } from '@fluidbox/seal';
import type { Clock, Ids } from '@fluidbox/service-kit';
import type { Account, LimitedAccount } from '../domain/accounts';
import type { DialectId } from '../domain/dialect';
import type { FailoverTimes } from '../domain/failover';
import type { RecentLimits } from './recent-limits';
import type { ReservationQueue } from './reservation-queue';

export interface Ports {
  readonly ledger: Ledger;
  readonly tokens: RunTokenVerifier;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly specOf: (digest: string) => Promise<RunSpec>;
  readonly upstreams: Upstreams;
  /** What admins set of them. */
  readonly organisations: Organisations;
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
  /** Default `failoverTimes`. */
  readonly failover?: FailoverTimes;
}

export interface FacadeLog {
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}

/** Whom a run's requests go to. */
export interface Upstreams {
  /**
   * In the order in which they are asked: those of the organisation, or the deployment's own, which has no name; empty when there is neither. A promise only
   * where it has to be read again.
   */
  of(org: string, dialect: DialectId): readonly NamedUpstream[] | Promise<readonly NamedUpstream[]>;
  /** Counts an attempt that was given to the next upstream; answers how many there were since this process began. */
  countFailure(): number;
  close(): Promise<void>;
}
export interface NamedUpstream {
  readonly name: string | null;
  readonly upstream: Upstream;
}

/** What the key of an upstream is bound to. */
export interface UpstreamPlace {
  readonly org: string;
  readonly dialect: DialectId;
  readonly name: string;
  readonly baseUrl: string;
}
export interface StoredUpstream extends UpstreamPlace {
  /** From 1 on, without gaps. */
  readonly position: number;
  readonly sealedKey: Buffer;
  readonly by: string;
  readonly at: Date;
}
export interface UpstreamTable {
  list(org: string, dialect: DialectId): Promise<readonly StoredUpstream[]>;
  /** Adds or replaces it. Answers the new list; null when it is full. */
  set(upstream: Omit<StoredUpstream, 'position'>, position: number | undefined): Promise<readonly StoredUpstream[] | null>;
  /** False when there is none. */
  remove(upstream: Pick<StoredUpstream, 'org' | 'dialect' | 'name' | 'by' | 'at'>): Promise<boolean>;
}
export interface UpstreamKeys {
  seal(place: UpstreamPlace, key: string): Buffer;
  open(place: UpstreamPlace, sealed: Buffer): string;
}
export interface Organisations {
  readonly table: UpstreamTable;
  readonly keys: UpstreamKeys;
  readonly privateHosts: readonly string[];
}

/** The model provider. */
export interface Upstream {
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Takes no new request; those that run come to their end. */
  retire(): void;
  close(): Promise<void>;
}
export interface UpstreamRequest {
  /** Below the provider's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Any of them ends the request, also in the middle of its answer. */
  readonly givenUp: readonly AbortSignal[];
  /** Less patience than the upstream's own. */
  readonly firstByteMs?: number | undefined;
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
/** Why there is no answer. `sent`: the provider may have begun to work, and to charge. `timedOut`: it was silent for too long. */
export class UpstreamFailed extends Error {
  readonly timedOut: boolean;
  constructor(
    readonly sent: boolean,
    message: string,
    { cause, timedOut = false }: { cause: unknown; timedOut?: boolean },
  ) {
    super(message, { cause });
    this.name = 'UpstreamFailed';
    this.timedOut = timedOut;
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
