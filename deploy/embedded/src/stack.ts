import fs from 'node:fs';
import path from 'node:path';
import { natsPermissions, type ServiceName, serviceNames, type UpFile } from '@fluidbox/contracts';
import type { Migrate } from '@fluidbox/event-store';
import { identify } from '@fluidbox/tooling/identity';
import { type StartInProcess, startAllInOne } from './all-in-one';
import { openDatabase } from './database';
import { EmbeddedFailure } from './embedded-failure';
import { makePrivateFolder } from './files';
import { holdFolder } from './holder';
import { type HomeLayout, homeLayout } from './layout';
import { endNatsOrphan, startNats } from './nats';
import { endPostgresOrphan, type RunningPostgres, startPostgres } from './postgres';
import { choosePorts, deploymentId } from './remembered';
import { ensureSecrets, keepProviderKeys, type SecretFiles, type ServicePasswords, servicePasswords, writeServiceSecrets } from './secrets';
import type { DeploymentFacts, Environment, Ports } from './service-environment';
import { type EntryOf, endServiceOrphans, type RunningServices, startServiceProcesses } from './service-processes';
import { type Supervised, supervise } from './supervise';
import { answersHealth, removeUpFile, writeUpFile } from './up-file';

export type StackMode = UpFile['mode'];

export interface StackOptions {
  readonly home: string;
  readonly mode: StackMode;
  readonly migrate: Migrate;
  /** Instead of services/all-in-one. */
  readonly startInProcess?: StartInProcess;
  /** Instead of services/<name>. */
  readonly entryOf?: EntryOf;
  readonly environment: Environment;
  /** Try 8787 to 8789 first: for a stack that stays, not for one that lives as long as a command. */
  readonly preferWellKnownPorts?: boolean;
  readonly say: (text: string) => void;
  /** Ends a start that is under way; what has been started is stopped again. */
  readonly signal?: AbortSignal;
}

export interface RunningStack {
  readonly up: UpFile;
  stop(): Promise<void>;
}

/** What has been started so far, undone in reverse: the last started stops first. */
class Undo {
  readonly #steps: (() => Promise<void> | void)[] = [];
  add(step: () => Promise<void> | void): void {
    this.#steps.push(step);
  }
  async run(): Promise<void> {
    const failures: unknown[] = [];
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some parts did not stop');
  }
}

// Services know the ports by heart: a server that comes up elsewhere after a restart would be of no use to them.
const postgresOptions = (layout: HomeLayout, port?: number) => ({
  dir: layout.postgres,
  logFile: path.join(layout.logs, 'postgres.log'),
  pidFile: path.join(layout.pids, 'postgres.json'),
  ...(port === undefined ? {} : { port, exactPort: true }),
});
const natsOptions = (layout: HomeLayout, port?: number) => ({
  dir: layout.nats,
  logFile: path.join(layout.logs, 'nats.log'),
  pidFile: path.join(layout.pids, 'nats.json'),
  ...(port === undefined ? {} : { port, exactPort: true }),
});

/**
 * Starts Postgres, the schema, NATS and the services on the folder, in that order; stops them in reverse. Parts that a killed stack left
 * behind are ended first. Sandboxes are not touched: the scheduler adopts them.
 */
export async function startStack(options: StackOptions): Promise<RunningStack> {
  const layout = homeLayout(options.home);
  const undo = new Undo();
  undo.add(holdFolder(layout));
  try {
    await endOrphans(layout, options.say);
    for (const dir of [layout.pids, layout.logs, layout.blobs, layout.runs]) makePrivateFolder(dir);
    const up = await startParts(options, layout, undo);
    return { up, stop: () => undo.run() };
  } catch (error) {
    await undo.run();
    throw error;
  }
}

/** Writers first, then what they write to. */
async function endOrphans(layout: HomeLayout, say: (text: string) => void): Promise<void> {
  removeUpFile(layout.upFile);
  const services = await endServiceOrphans(layout);
  const nats = await endNatsOrphan(natsOptions(layout));
  const postgres = await endPostgresOrphan(postgresOptions(layout));
  const ended = [...services, ...(nats === undefined ? [] : ['nats']), ...(postgres === undefined ? [] : ['postgres'])];
  if (ended.length > 0) say(`ended what an earlier stack left behind: ${ended.join(', ')}`);
}

/** Brings the folder's database to the schema of this version without starting a stack; answers what was applied. */
export async function migrateFolder(options: Pick<StackOptions, 'home' | 'migrate' | 'say'>): Promise<readonly string[]> {
  const layout = homeLayout(options.home);
  const undo = new Undo();
  undo.add(holdFolder(layout));
  try {
    await endOrphans(layout, options.say);
    const secrets = ensureSecrets(layout.secrets, fs.existsSync(path.join(layout.postgres, 'data')));
    const postgres = await startPostgres(postgresOptions(layout));
    undo.add(() => postgres.stop());
    const passwords = servicePasswords(secrets);
    const { urls, applied } = await openDatabase(postgres, options.migrate, passwordsOf(passwords, 'database'));
    writeSecretsOfServices(secrets, { nats: 0 }, passwords, urls);
    return applied;
  } finally {
    await undo.run();
  }
}

async function startParts(options: StackOptions, layout: HomeLayout, undo: Undo): Promise<UpFile> {
  const { say } = options;
  const secrets = ensureSecrets(layout.secrets, fs.existsSync(path.join(layout.postgres, 'data')));
  const ports = await choosePorts(layout, options.environment, options.preferWellKnownPorts === true);
  const passwords = servicePasswords(secrets);
  const facts: DeploymentFacts = {
    layout,
    secrets,
    ports,
    deploymentId: deploymentId(layout),
    providerKeys: keepProviderKeys(secrets, options.environment),
    caller: options.environment,
  };
  // Written when everything is up, and again whenever a part has another pid.
  let announce: () => void = () => undefined;

  say('starting Postgres and NATS');
  const { database, postgres } = await supervisePostgres(layout, ports, () => announce(), say);
  undo.add(() => database.stop());
  options.signal?.throwIfAborted();
  const { urls } = await openDatabase(postgres, options.migrate, passwordsOf(passwords, 'database'));
  const nats = await superviseNats(layout, ports, passwords, () => announce(), say);
  undo.add(() => nats.stop());
  options.signal?.throwIfAborted();
  writeSecretsOfServices(secrets, ports, passwords, urls);

  say(options.mode === 'processes' ? 'starting the services, each as its own process' : 'starting the services');
  const services =
    options.mode === 'processes'
      ? await startServiceProcesses(facts, () => announce(), say, options.entryOf)
      : await (options.startInProcess ?? startAllInOne)(facts);
  undo.add(services.stop);
  options.signal?.throwIfAborted();
  const startedAt = new Date().toISOString();
  const content = () => upContent(facts, options.mode, startedAt, [database, nats], services);
  announce = () => writeUpFile(layout.upFile, content());
  undo.add(() => {
    announce = () => undefined;
    removeUpFile(layout.upFile);
  });
  announce();
  const up = content();
  if (await answersHealth(up.public_url)) return up;
  throw new EmbeddedFailure(`the gateway started but ${up.public_url}/v1/health does not answer. See ${layout.logs}`);
}

async function supervisePostgres(
  layout: HomeLayout,
  ports: Ports,
  onRestart: () => void,
  say: (text: string) => void,
): Promise<{ database: Supervised; postgres: RunningPostgres }> {
  const first = await startPostgres(postgresOptions(layout, ports.postgres));
  const again = async () => (await startPostgres(postgresOptions(layout, ports.postgres))).child;
  return { database: supervise({ name: 'postgres', first: first.child, start: again, onRestart, say }), postgres: first };
}

const passwordsOf = (all: Readonly<Record<ServiceName, ServicePasswords>>, kind: keyof ServicePasswords): Record<ServiceName, string> =>
  Object.fromEntries(serviceNames.map((name) => [name, all[name][kind]])) as Record<ServiceName, string>;

async function superviseNats(
  layout: HomeLayout,
  ports: Ports,
  passwords: Record<ServiceName, ServicePasswords>,
  onRestart: () => void,
  say: (text: string) => void,
): Promise<Supervised> {
  const users = serviceNames.map((user) => ({ user, password: passwords[user].nats, permissions: natsPermissions(user) }));
  const start = async () => (await startNats({ ...natsOptions(layout, ports.nats), users })).child;
  return supervise({ name: 'nats', first: await start(), start, onRestart, say });
}

function writeSecretsOfServices(
  files: SecretFiles,
  ports: Pick<Ports, 'nats'>,
  passwords: Record<ServiceName, ServicePasswords>,
  databaseUrls: Readonly<Record<ServiceName, string>>,
): void {
  for (const name of serviceNames) {
    const nats = { nats_url: `nats://127.0.0.1:${ports.nats}`, nats_user: name, nats_password: passwords[name].nats };
    writeServiceSecrets(files, name, { database_url: databaseUrls[name], ...nats });
  }
}

function upContent(
  facts: DeploymentFacts,
  mode: StackMode,
  startedAt: string,
  servers: readonly Supervised[],
  services: RunningServices,
): UpFile {
  const { ports, secrets } = facts;
  const host = facts.caller.FLUIDBOX_BIND_ADDRESS ?? '127.0.0.1';
  const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const self = identify() ?? { pid: process.pid, startTime: '' };
  const processOf = (server: Supervised) => {
    const { pid, startTime } = server.current().identity;
    return { name: server.name, pid, started: startTime };
  };
  return {
    deployment_id: facts.deploymentId,
    pid: self.pid,
    pid_started_at: self.startTime,
    started_at: startedAt,
    mode,
    public_url: `http://${address}:${ports.public}`,
    control_url: `http://${address}:${ports.control}`,
    llm_url: `http://${address}:${ports.llm}`,
    nats_url: `nats://127.0.0.1:${ports.nats}`,
    database_host: `127.0.0.1:${ports.postgres}`,
    files: { admin_token: secrets.adminToken, secrets_dir: secrets.dir, kek: secrets.kek, ledger_public_key: secrets.ledgerPublicKeys },
    processes: [...servers.map(processOf), ...services.processes()],
  };
}
