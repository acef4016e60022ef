import { loadSigningKey, signCheckpoint } from '@fluidbox/seal';
import type { ServiceContext } from '@fluidbox/service-kit';
import { type DynamicModule, Module } from '@nestjs/common';
import { checkpointsSince, liveRuns, saveCheckpoints, standings } from './adapters/checkpoint-table';
import { LogEar } from './adapters/log-ear';
import { postgresReadTables } from './adapters/read-tables';
import { dueRebuilds, liveVersion, postgresRebuilds, rebuildFailed } from './adapters/rebuild-table';
import type { AdminPorts } from './adapters/subscriptions';
import { fileWitness } from './adapters/witness-file';
import { checkpointEveryMs, type LifecyclePorts } from './app/lifecycle';
import type { ProjectPorts } from './app/project-page';
import { rebuild } from './app/rebuild';
import { Rebuilds } from './app/rebuilds';
import type { RepublishPorts } from './app/republish-gaps';
import { RunPictures } from './app/run-pictures';
import { type CheckpointPorts, signDueCheckpoints } from './app/sign-checkpoint';
import { tellAll, type Witness } from './app/witness';
import type { Config } from './config';
import { LiveRuns } from './domain/live-runs';

export const PORTS = Symbol('Ports');

export interface Ports {
  readonly project: ProjectPorts & Pick<ServiceContext, 'store'>;
  readonly rebuilds: Rebuilds;
  readonly admin: AdminPorts;
  readonly checkpoints: CheckpointPorts;
  readonly republish: RepublishPorts;
  readonly lifecycle: LifecyclePorts;
  readonly ear: LogEar;
}

/** A message is on its way for milliseconds; after this it was never sent. */
const graceMs = 2_000;

@Module({})
class ProjectorModule {}

export function projectorModule(context: ServiceContext, config: Config): DynamicModule {
  const { bus, clock, log, sql, store } = context;
  const key = loadSigningKey(config.ledgerKeyFile);
  const now = (): number => clock.now().getTime();
  const ear = new LogEar();
  const unwitnessed = (witness: string, error: unknown): void =>
    log.error({ witness, err: error }, 'a head did not reach a witness; heads of the last hour go out again at the next start');
  const jetStream: Witness = { name: 'JetStream', tell: ({ org, id, seq, hash, jws }) => bus.publishWitness(org, id, { seq, hash, jws }) };
  const { witnessFile: file } = config;
  const witnesses = file === undefined ? [jetStream] : [jetStream, fileWitness(file, (error) => unwitnessed(file, error))];
  const checkpoints: CheckpointPorts = {
    store,
    clock,
    kid: key.kid,
    sign: (checkpoint) => signCheckpoint(key, checkpoint),
    standings,
    save: saveCheckpoints,
    witness: tellAll(witnesses, unwitnessed),
    live: new LiveRuns(checkpointEveryMs),
  };
  const rebuilds = new Rebuilds({
    due: () => dueRebuilds(sql),
    rebuild: (name, stopped) => rebuild({ store, tables: postgresReadTables, rebuilds: postgresRebuilds(sql) }, name, stopped),
    onFailure: async (name, error, givenUp) => {
      log.error(
        { err: error, model: name },
        givenUp ? 'a read model cannot be filled; the live one stays' : 'filling a read model failed; it is tried again',
      );
      if (!givenUp) return;
      const problem = error instanceof Error ? error.message : String(error);
      await rebuildFailed(sql, name, problem).catch((cause: unknown) =>
        log.error({ err: cause, model: name }, 'the problem was not written down'),
      );
    },
  });
  const ports: Ports = {
    project: { store, pictures: new RunPictures(store), tables: postgresReadTables },
    rebuilds,
    admin: { sql, startRebuild: (name) => rebuilds.start(name) },
    checkpoints,
    republish: {
      store,
      heard: ear.heard,
      publish: (message) => {
        log.warn(
          { stream: message.stream, first: message.firstSeq, last: message.lastSeq },
          'nobody had published these events; published again',
        );
        bus.publishLog(message);
      },
      nextMessage: (withinMs) => ear.nextMessage(withinMs),
      // No clock that somebody may set: the grace is a stretch of time.
      now: () => performance.now(),
      graceMs,
    },
    lifecycle: {
      now,
      recoverLiveRuns: async () => {
        for (const run of await liveRuns(sql, await liveVersion(sql, 'runs'))) checkpoints.live.moved(run.id, run.org, run.signedAt);
      },
      signDue: () =>
        signDueCheckpoints(checkpoints, sql, (run, error) =>
          log.error({ run, err: error }, 'a live run could not be vouched for; it is tried again'),
        ),
      checkpointsSince: (since) => checkpointsSince(sql, since),
      witness: checkpoints.witness,
      onReconnect: (listener) => bus.onReconnect(listener),
      onFailure: (doing, error) => log.error({ err: error }, `${doing} failed; it is tried again`),
    },
    ear,
  };
  return { module: ProjectorModule, providers: [{ provide: PORTS, useFactory: () => ports }] };
}
