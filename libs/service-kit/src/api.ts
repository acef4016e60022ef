import type { Bus, RequestMeta } from '@fluidbox/bus';
import type { Command, LogMessage, ParsedRequestOf, ReplyOf, ServiceName } from '@fluidbox/contracts';
import type { Clock, EventStore, Ids, Ledger, LogFollower, SqlClient } from '@fluidbox/event-store';
import type { GrantedKeyring, Keyring } from '@fluidbox/seal';
import type { DynamicModule, ExceptionFilter, INestApplicationContext } from '@nestjs/common';
import type { Logger } from 'pino';
import type { z } from 'zod';

export type { Clock, Ids } from '@fluidbox/event-store';

/** What a service gets from the kit. One per service, also inside all-in-one. */
export interface ServiceContext {
  readonly name: ServiceName;
  readonly log: Logger;
  readonly bus: Bus;
  readonly store: EventStore;
  readonly ledger: Ledger;
  /** The ledger's keyring. Without a KEK it opens only what was granted. */
  readonly keyring: Keyring;
  /** The same keyring where the service holds no KEK: grant here the keys that another service handed over. Null for KEK holders. */
  readonly granted: GrantedKeyring | null;
  /** The service's own tables, with its own database role. */
  readonly sql: SqlPool;
  readonly clock: Clock;
  readonly ids: Ids;
}
export interface SqlPool extends SqlClient {
  transaction<T>(work: (tx: SqlClient) => Promise<T>): Promise<T>;
}

/** Subscriptions are data: service-kit starts and drains them. Build with `subscribe(Command, handler)`. */
export interface CommandSubscription {
  readonly command: Command;
  readonly handle: (request: never, meta: RequestMeta) => Promise<unknown>;
}
export type Subscribe = <C extends Command>(
  command: C,
  handle: (request: ParsedRequestOf<C>, meta: RequestMeta) => Promise<ReplyOf<C>>,
) => CommandSubscription;

export interface HttpSettings {
  /** 0: any free port. */
  readonly port: number;
  readonly address: string;
  readonly bodyBytesMax: number;
  /** Instead of problem+json, for a plane whose clients expect another shape of errors; also for errors before any controller. */
  readonly filter?: ExceptionFilter;
  /** Keeps the bytes of each body beside its parsed form (`request.rawBody`). */
  readonly rawBody?: boolean;
}

export interface ServiceDefinition<C = unknown> {
  readonly name: ServiceName;
  /** Parsed from the environment; an error names the variable and the fix. Nothing else reads the environment. */
  readonly config: z.ZodType<C>;
  readonly module: (context: ServiceContext, config: C) => DynamicModule;
  readonly subscriptions?: (app: INestApplicationContext) => readonly CommandSubscription[];
  readonly followers?: (app: INestApplicationContext) => readonly LogFollower[];
  /** A service with an HTTP listener. Others run as an application context. */
  readonly http?: (config: C, log: Logger) => HttpSettings;
  /** Timers, recovery, caches: started after the subscriptions, stopped before them. */
  readonly lifecycle?: (app: INestApplicationContext) => { start(): Promise<void>; stop(): Promise<void> };
  /** Handles log messages live (wake-ups) in addition to `ledger.apply`, which the kit always does. */
  readonly onLog?: (app: INestApplicationContext) => (message: LogMessage) => void;
}
export interface RunningService {
  readonly name: ServiceName;
  /** Base URL of its listener, where it has one. */
  readonly url: string | null;
  stop(): Promise<void>;
}
export type Environment = Readonly<Record<string, string | undefined>>;
/** Exported as `startAllInOne` by the index of services/all-in-one: every service in this process, in order, each with its own Nest application. */
export type StartAllInOne = (environment: Environment) => Promise<{ readonly services: readonly RunningService[]; stop(): Promise<void> }>;
