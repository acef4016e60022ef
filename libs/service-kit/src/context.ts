import { connectBus } from '@fluidbox/bus';
import { environmentVariables, type ServiceName } from '@fluidbox/contracts';
import { assertSchemaVersion, createKekKeyring, createLedger, createPostgresStore, type EventStore } from '@fluidbox/event-store';
import { type GrantedKeyring, grantedKeyring, type Keyring, loadKek } from '@fluidbox/seal';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { Environment, ServiceContext } from './api';
import { systemClock, uuidV7Ids } from './clock-and-ids';
import { ConfigError, parseConfig, readSecrets } from './config';
import { createLogger } from './logger';
import { createPool, sqlOf } from './sql';
import { Stops } from './stops';

/** Services that may open what is sealed. The others hold no KEK, also where one process runs them all. */
const kekHolders: readonly ServiceName[] = ['runs', 'run-specs', 'gate', 'approvals', 'gateway', 'llm-facade'];
/** Whose database role sees one organisation at a time. */
const boundToOrganisation: readonly ServiceName[] = ['gateway'];

const KitConfig = z.object({
  FLUIDBOX_LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  FLUIDBOX_LOG_FILE: z.string().min(1).optional(),
  FLUIDBOX_KEK_FILE: z.string().min(1).optional(),
});

export interface KitContext {
  readonly context: ServiceContext;
  readonly pool: Pool;
  readonly stops: Stops;
}

/** Everything a service stands on, connected and checked. What fails here stops the start with a message for a person. */
export async function createContext(name: ServiceName, environment: Environment): Promise<KitContext> {
  const settings = parseConfig(name, KitConfig, environment);
  const secrets = readSecrets(name, environment);
  const log = createLogger(name, settings.FLUIDBOX_LOG_LEVEL, settings.FLUIDBOX_LOG_FILE);
  const stops = new Stops((step, error) => log.error({ err: error, step }, 'a step of the stop failed'));
  try {
    const pool = createPool(name, secrets.database_url, (error) => log.warn({ err: error }, 'an idle database connection was lost'));
    stops.add('database', () => pool.end());
    await assertSchemaVersion(pool);
    const bus = await connectBus({
      service: name,
      url: secrets.nats_url,
      user: secrets.nats_user,
      password: secrets.nats_password,
      onWarning: (message, error) => log.warn({ err: error }, message),
    });
    stops.add('bus', () => bus.close());
    const store = createPostgresStore({ pool, rowSecurity: boundToOrganisation.includes(name) });
    stops.add('store', () => store.close());
    const clock = systemClock;
    const ids = uuidV7Ids(clock);
    const { keyring, granted } = keyringOf(name, settings.FLUIDBOX_KEK_FILE, store);
    const ledger = createLedger({ store, keyring, clock, ids, service: name });
    return { context: { name, log, bus, store, ledger, keyring, granted, sql: sqlOf(pool), clock, ids }, pool, stops };
  } catch (error) {
    await stops.stop();
    throw error;
  }
}

function keyringOf(
  name: ServiceName,
  kekFile: string | undefined,
  store: EventStore,
): { keyring: Keyring; granted: GrantedKeyring | null } {
  if (!kekHolders.includes(name)) {
    const granted = grantedKeyring(name);
    return { keyring: granted, granted };
  }
  if (kekFile === undefined) throw new ConfigError(`${name}: set FLUIDBOX_KEK_FILE (${environmentVariables.FLUIDBOX_KEK_FILE})`);
  return { keyring: createKekKeyring({ store, kek: loadKek(kekFile), clock: systemClock }), granted: null };
}
