import fs from 'node:fs';
import path from 'node:path';
import { LaunchRun, Problem, RunKeys } from '@fluidbox/contracts';
import { FolderBlobStore } from '@fluidbox/event-store';
import type { GrantedKeyring } from '@fluidbox/seal';
import { type ServiceContext, StreamLoop } from '@fluidbox/service-kit';
import { type DynamicModule, Module } from '@nestjs/common';
import { LocalProvider } from './adapters/local/local-provider';
import { LocalSandboxes } from './adapters/local/sandboxes';
import { firstSandboxUid } from './adapters/local/uids';
import { RunPlaces } from './adapters/run-places';
import { forgetRun, noteSandbox, runsOfTable, saveArtifact } from './adapters/sandbox-table';
import { workspaces } from './adapters/workspaces';
import { type DrivePorts, driveRun } from './app/drive-run';
import type { LifecyclePorts } from './app/lifecycle';
import type { Config } from './config';
import { Slots } from './domain/slots';

export const LIFECYCLE = Symbol('Lifecycle');

@Module({})
class SchedulerModule {}

const gitTimeoutMs = 10 * 60_000;
/** The built file, also when this service itself is run from its source. */
const builtSupervisor = path.join(__dirname, '../dist/supervisor/main.js');

export function schedulerModule(context: ServiceContext, config: Config, supervisorScript = builtSupervisor): DynamicModule {
  const firstUid = process.getuid?.() === 0 ? firstSandboxUid() : null;
  const places = new RunPlaces(config.runsDir, config.deploymentId, firstUid);
  const provider = new LocalProvider(supervisorScript);
  const sandboxes = new LocalSandboxes(provider, { ...config, limits: config.sandboxLimits, firstUid });
  const loop: StreamLoop = new StreamLoop({
    now: () => context.clock.now().getTime(),
    drive: (stream) => driveRun(ports, stream),
    onFailure: (stream, error) => context.log.error({ run: stream.id, err: error }, 'a run could not be driven; it is tried again'),
  });
  const ports: DrivePorts = {
    ledger: context.ledger,
    keyring: granted(context),
    blobs: new FolderBlobStore(config.blobsDir),
    launch: (stream) => context.bus.request(LaunchRun, { run_id: stream.id, org: stream.org }),
    runKeys: (stream) => context.bus.request(RunKeys, { run_id: stream.id, org: stream.org }),
    saveArtifact: (artifact) => saveArtifact(context.sql, artifact),
    places,
    workspaces: workspaces({
      localSources: config.localSources.map((folder) => (fs.existsSync(folder) ? fs.realpathSync(folder) : path.resolve(folder))),
      privateGitHosts: config.privateGitHosts,
      proxy: config.gitProxy,
      caFile: config.gitCaFile,
      timeoutMs: gitTimeoutMs,
      limits: config.workspaceLimits,
    }),
    sandboxes,
    slots: new Slots(config.sandboxesMax),
    now: () => context.clock.now().getTime(),
    wakeNext: (runId) => loop.wakeKnown(runId, 0),
    noteSandbox: (stream, sandbox) => noteSandbox(context.sql, stream, sandbox),
    forget: (stream) => forgetRun(context.sql, stream),
  };
  const lifecycle: LifecyclePorts = {
    loop,
    knownRuns: async () => {
      const rows = await runsOfTable(context.sql);
      const known = new Set(rows.map(({ id }) => id));
      return [...rows, ...places.runs().filter(({ id }) => !known.has(id))];
    },
    hostRefusal: () => {
      const host = sandboxes.checkHost();
      return host.ok ? null : host.reason;
    },
    tidyHost: () => provider.removeLeftGroups(config.deploymentId, config.runsDir),
    onRefusal: (reason) => context.log.error(`no sandbox can be had here, every run will fail: ${reason}`),
  };
  return { module: SchedulerModule, providers: [{ provide: LIFECYCLE, useFactory: () => lifecycle }] };
}

function granted(context: ServiceContext): GrantedKeyring {
  if (context.granted === null)
    throw new Problem('internal', 'the scheduler holds no key-encryption key: its keyring must be a granted one');
  return context.granted;
}
