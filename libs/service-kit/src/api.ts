import type { Bus } from '@fluidbox/bus';
import type { Command, ParsedRequestOf, ReplyOf, ServiceName } from '@fluidbox/contracts';
import type { EventStore, Ledger, LogFollower, SqlClient } from '@fluidbox/event-store';
import type { Keyring } from '@fluidbox/seal';
import type { RequestMeta } from '@fluidbox/bus';
import type { DynamicModule, INestApplicationContext } from '@nestjs/common';
import type { Logger } from 'pino';
import type { z } from 'zod';

/** What a service gets from the kit. One per service, also inside all-in-one. */
export interface ServiceContext {
  readonly name: ServiceName;
  readonly log: Logger;
  readonly bus: Bus;
  readonly store: EventStore;
  /** Present for every service; without a KEK its keyring refuses (`Keyring` of the scheduler is its own). */
  readonly ledger: Ledger;
  readonly keyring: Keyring;
  /** The service's own tables, with its own database role. */
  readonly sql: SqlClient & { transaction<T>(work: (tx: SqlClient) => Promise<T>): Promise<T> };
  readonly clock: Clock;
  readonly ids: Ids;
}
/** The only clock and the only source of ids and randomness; tests give their own. */
export interface Clock { now(): Date }
export interface Ids { uuid(): string }

/** Subscriptions are data: service-kit starts and drains them. Build with `subscribe(Command, handler)`. */
export interface CommandSubscription {
  readonly command: Command;
  readonly handle: (request: never, meta: RequestMeta) => Promise<unknown>;
}
export type Subscribe = <C extends Command>(command: C, handle: (request: ParsedRequestOf<C>, meta: RequestMeta) => Promise<ReplyOf<C>>) => CommandSubscription;

export interface ServiceDefinition<C = unknown> {
  readonly name: ServiceName;
  /** Parsed from the environment; an error names the variable and the fix. Nothing else reads the environment. */
  readonly config: z.ZodType<C>;
  readonly module: (context: ServiceContext, config: C) => DynamicModule;
  readonly subscriptions?: (app: INestApplicationContext) => readonly CommandSubscription[];
  readonly followers?: (app: INestApplicationContext) => readonly LogFollower[];
  /** A service with an HTTP listener. Others run as an application context. */
  readonly http?: (config: C) => { readonly port: number; readonly address: string; readonly bodyBytesMax: number };
  /** Timers, recovery, caches: started after the subscriptions, stopped before them. */
  readonly lifecycle?: (app: INestApplicationContext) => { start(): Promise<void>; stop(): Promise<void> };
  /** Handles log messages live (wake-ups) in addition to `ledger.apply`, which the kit always does. */
  readonly onLog?: (app: INestApplicationContext) => (message: import('@fluidbox/contracts').LogMessage) => void;
}
export interface RunningService {
  readonly name: ServiceName;
  /** Base URL of its listener, where it has one. */
  readonly url: string | null;
  stop(): Promise<void>;
}
export type StartService = <C>(definition: ServiceDefinition<C>, environment: Readonly<Record<string, string | undefined>>) => Promise<RunningService>;
/** Exported as `startAllInOne` by the index of services/all-in-one: every service in this process, in order, each with its own Nest application. */
export type StartAllInOne = (
  environment: Readonly<Record<string, string | undefined>>,
) => Promise<{ readonly services: readonly RunningService[]; stop(): Promise<void> }>;
