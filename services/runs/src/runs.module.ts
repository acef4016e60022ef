import { FreezeRunSpec } from '@fluidbox/contracts';
import { FolderBlobStore } from '@fluidbox/event-store';
import { type ServiceContext, StreamLoop } from '@fluidbox/service-kit';
import { type DynamicModule, Module } from '@nestjs/common';
import { erasureTable } from './adapters/erasure-table';
import { heartbeatTable } from './adapters/heartbeat-table';
import { openRuns } from './adapters/open-runs';
import { runTokenSigner } from './adapters/run-tokens';
import { driveRun } from './app/drive-run';
import { sweepContent } from './app/erase-content';
import { Heartbeats } from './app/heartbeats';
import type { LifecyclePorts } from './app/lifecycle';
import type { Ports } from './app/ports';
import type { Config } from './config';

export const PORTS = Symbol('Ports');
export const LIFECYCLE = Symbol('Lifecycle');

@Module({})
class RunsModule {}

export function runsModule(context: ServiceContext, config: Config): DynamicModule {
  const now = (): number => context.clock.now().getTime();
  const ports: Ports = {
    ledger: context.ledger,
    clock: context.clock,
    ids: context.ids,
    freeze: (request) => context.bus.request(FreezeRunSpec, request),
    signToken: runTokenSigner(config.tokenKeyFile),
    heartbeats: new Heartbeats(heartbeatTable(context.sql), now()),
    erasures: erasureTable(context.sql),
    blobs: new FolderBlobStore(config.blobsDir),
    heartbeatSilenceMs: config.heartbeatSilenceMs,
  };
  const loop = new StreamLoop({
    now,
    drive: (stream, options) => driveRun(ports, stream, options),
    onFailure: (stream, error) => context.log.error({ run: stream.id, err: error }, 'a run could not be driven; it is tried again'),
    onOver: (stream) => ports.heartbeats.forget(stream.id),
  });
  const lifecycle: LifecyclePorts = {
    loop,
    heartbeats: ports.heartbeats,
    openRuns: () => openRuns(context.sql),
    sweep: () =>
      sweepContent(ports, (run, error) =>
        context.log.error({ run, err: error }, 'the content of a run could not be erased; it is tried again'),
      ),
    onSweepFailure: (error) => context.log.error({ err: error }, 'what has to be erased could not be found out; it is tried again'),
    onFlushFailure: (error) => context.log.warn({ err: error }, 'heartbeats were not stored; they are stored with the next ones'),
  };
  return {
    module: RunsModule,
    providers: [
      { provide: PORTS, useFactory: () => ports },
      { provide: LIFECYCLE, useFactory: () => lifecycle },
    ],
  };
}
