import 'reflect-metadata';
import type { LogMessage } from '@fluidbox/contracts';
import type { DynamicModule, INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { CommandSubscription, Environment, HttpSettings, RunningService, ServiceDefinition } from './api';
import { parseConfig } from './config';
import { createContext, type KitContext } from './context';
import { closeHttp, createHttpApplication, listen } from './http';
import { nestLogger } from './logger';
import { applyLog, publishCommits, startFollowers } from './wiring';

/**
 * Starts one service: connections, Nest application, log, followers, subscriptions, lifecycle, and last the listener, so that nobody is
 * answered by half a service. Rejects with a message for a person, and then leaves nothing running. `stop()` goes the same way back.
 */
export async function startService<C>(definition: ServiceDefinition<C>, environment: Environment): Promise<RunningService> {
  const config = parseConfig(definition.name, definition.config, environment);
  const kit = await createContext(definition.name, environment);
  try {
    return await assemble(definition, config, kit);
  } catch (error) {
    await kit.stops.stop();
    throw error;
  }
}

async function assemble<C>(definition: ServiceDefinition<C>, config: C, kit: KitContext): Promise<RunningService> {
  const { context, pool, stops } = kit;
  const { name, bus, store, ledger, log } = context;
  const http = definition.http?.(config, log);
  const { app, startListening, stopListening } = await createApplication(definition.module(context, config), http, kit);

  publishCommits(store, bus);
  const listeners: ((message: LogMessage) => void)[] = [];
  const onLog = definition.onLog?.(app);
  if (onLog !== undefined) listeners.push(onLog);
  applyLog(name, bus, ledger, listeners, stops);
  const followers = startFollowers(definition.followers?.(app) ?? [], { pool, store, bus, log }, stops);
  listeners.push(() => {
    for (const follower of followers) follower.wake();
  });

  const subscriptions = (definition.subscriptions?.(app) ?? []).map((row) => respond(kit, row));
  stops.add('subscriptions', async () => void (await Promise.all(subscriptions.map((subscription) => subscription.drain()))));
  await bus.flush();

  const lifecycle = definition.lifecycle?.(app);
  stops.add('lifecycle', async () => {
    // Nothing new is accepted while the lifecycle stops, which lets go of the requests that it holds.
    const closed = stopListening();
    await lifecycle?.stop();
    await closed;
  });
  const url = await startListening(async () => lifecycle?.start());
  log.info({ ...(url === null ? {} : { url }) }, 'ready');
  return { name, url, stop: () => stops.stop() };
}

const respond = ({ context }: KitContext, { command, handle }: CommandSubscription) =>
  context.bus.respond(command, handle as Parameters<typeof context.bus.respond>[1]);

interface Application {
  readonly app: INestApplicationContext;
  /** Runs `start` and then opens the listener; answers its URL. */
  startListening(start: () => Promise<void>): Promise<string | null>;
  stopListening(): Promise<void>;
}

async function createApplication(
  module: DynamicModule,
  http: HttpSettings | undefined,
  { context, pool, stops }: KitContext,
): Promise<Application> {
  if (http === undefined) {
    const app = await NestFactory.createApplicationContext(module, { logger: nestLogger(context.log), abortOnError: false });
    stops.add('application', () => app.close());
    return {
      app,
      startListening: async (start) => {
        await start();
        return null;
      },
      stopListening: () => Promise.resolve(),
    };
  }
  const notReady = async (): Promise<string | undefined> => {
    if (!context.bus.connected) return 'NATS is not connected';
    const answer = await pool.query('select 1').catch((error: Error) => error);
    return answer instanceof Error ? `Postgres does not answer: ${answer.message}` : undefined;
  };
  const app = await createHttpApplication(module, http, context.log, { notReady });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= closeHttp(app);
    return closing;
  };
  stops.add('application', close);
  await app.init();
  return {
    app,
    startListening: async (start) => {
      await start();
      return listen(app, http);
    },
    stopListening: close,
  };
}
