import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { natsPermissions, type ServiceName, serviceNames } from '@fluidbox/contracts';
import { openDatabase, type RunningPostgres, startNats, startPostgres } from '@fluidbox/embedded';
import { migrate } from '@fluidbox/event-store';
import { generateKekFile } from '@fluidbox/seal';
import { type RunningService, type ServiceContext, startService } from '@fluidbox/service-kit';
import { Module } from '@nestjs/common';
import { Client } from 'pg';
import { z } from 'zod';

export interface Servers {
  /** What a service of this name gets from the kit: its own database role, the group-commit appender, the log published to NATS. */
  context(name: ServiceName): Promise<ServiceContext>;
  /** A connection of the superuser, for peers and controls. */
  connect(): Promise<Client>;
  /** URL of the superuser, for a peer with a pool of its own. */
  readonly url: string;
  /** What a service of these servers needs in another process. */
  readonly environment: Readonly<Record<string, string>>;
  /** What the figures depend on. */
  settings(): Promise<Readonly<Record<string, string>>>;
  /** A Postgres and a NATS apart from these, for who fills the ledger in a way that nobody else should meet. They end with these, or before. */
  apart(): Promise<Servers>;
  /** Stops Postgres, in order or by kill -9, and starts it again on the same port and data. */
  restartPostgres(how: 'stop' | 'kill'): Promise<void>;
  stop(): Promise<void>;
}

@Module({})
class EmptyModule {}

/** A durable Postgres and a NATS of their own, with the product's schema, roles and permissions. */
export async function startServers(): Promise<Servers> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-bench-'));
  const stops: (() => Promise<unknown>)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const each of [...stops].reverse()) await each();
    fs.rmSync(dir, { recursive: true, force: true });
  };
  let stopping: Promise<void> | undefined;
  // An interruption and the work that it breaks off both stop.
  const stop = (): Promise<void> => {
    stopping ??= stopAll();
    return stopping;
  };
  try {
    return await open(dir, stops, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function open(dir: string, stops: (() => Promise<unknown>)[], stop: () => Promise<void>): Promise<Servers> {
  const password = randomBytes(16).toString('hex');
  const passwords = Object.fromEntries(serviceNames.map((name) => [name, password])) as Record<ServiceName, string>;
  let postgres: RunningPostgres = await startPostgres({ dir: path.join(dir, 'postgres') });
  stops.push(() => postgres.stop());
  const { urls } = await openDatabase(postgres, migrate, passwords);
  const users = serviceNames.map((user) => ({ user, password, permissions: natsPermissions(user) }));
  const nats = await startNats({ dir: path.join(dir, 'nats'), users });
  stops.push(() => nats.stop());
  generateKekFile(path.join(dir, 'kek'));
  for (const name of serviceNames) {
    const secrets = { database_url: urls[name], nats_url: nats.url, nats_user: name, nats_password: password };
    fs.writeFileSync(path.join(dir, `${name}.json`), JSON.stringify(secrets), { mode: 0o600 });
  }
  const environment = { FLUIDBOX_SECRETS_DIR: dir, FLUIDBOX_KEK_FILE: path.join(dir, 'kek'), FLUIDBOX_LOG_LEVEL: 'silent' };
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: postgres.url('fluidbox') });
    // A connection that breaks while it is idle: whoever uses it next hears of it from its query.
    client.on('error', () => undefined);
    await client.connect();
    stops.push(() => client.end());
    return client;
  };
  const contexts = new Map<ServiceName, Promise<ServiceContext>>();
  const startContext = async (name: ServiceName): Promise<ServiceContext> => {
    let made: ServiceContext | undefined;
    const module = (context: ServiceContext) => {
      made = context;
      return { module: EmptyModule };
    };
    const running: RunningService = await startService({ name, config: z.object({}), module }, environment);
    stops.push(() => running.stop());
    if (made === undefined) throw new Error(`the kit did not start ${name}`);
    return made;
  };
  return {
    connect,
    stop,
    restartPostgres: async (how) => {
      const { port } = postgres;
      if (how === 'stop') await postgres.stop();
      else process.kill(postgres.child.identity.pid, 'SIGKILL');
      postgres = await startPostgres({ dir: path.join(dir, 'postgres'), port, exactPort: true });
    },
    apart: async () => {
      const servers = await startServers();
      stops.push(() => servers.stop());
      return servers;
    },
    url: postgres.url('fluidbox'),
    environment,
    context: (name) => {
      const known = contexts.get(name) ?? startContext(name);
      contexts.set(name, known);
      return known;
    },
    settings: async () => {
      const client = await connect();
      const names = ['server_version', 'fsync', 'synchronous_commit', 'shared_buffers', 'commit_delay'];
      const shown: [string, string][] = [['node', process.version]];
      for (const name of names) shown.push([name, String(Object.values((await client.query(`show ${name}`)).rows[0] ?? {})[0])]);
      return Object.fromEntries(shown);
    },
  };
}
