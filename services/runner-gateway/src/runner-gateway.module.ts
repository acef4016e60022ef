import { permissionPaddingMs } from '@fluidbox/contracts';
import { FolderBlobStore } from '@fluidbox/event-store';
import { createRunTokenVerifier, loadPublicKeys } from '@fluidbox/seal';
import type { ServiceContext } from '@fluidbox/service-kit';
import { type DynamicModule, Module } from '@nestjs/common';
import { PermissionController } from './adapters/permission.controller';
import { ReportController, ResultController, TokenController } from './adapters/report.controller';
import { PORTS } from './adapters/tokens';
import { WorkspaceController } from './adapters/workspace.controller';
import { ParkedCalls } from './app/parked-calls';
import type { Ports } from './app/ports';
import { WakeUps } from './app/wake-ups';
import type { Config } from './config';

@Module({})
class RunnerGatewayModule {}

export function runnerGatewayModule(context: ServiceContext, config: Config, paddingMs: number = permissionPaddingMs): DynamicModule {
  const wakeUps = new WakeUps();
  context.bus.onReconnect(() => wakeUps.wakeAll());
  const ports: Ports = {
    bus: context.bus,
    ledger: context.ledger,
    clock: context.clock,
    tokens: createRunTokenVerifier(loadPublicKeys(config.tokenPublicKeysFile)),
    blobs: new FolderBlobStore(config.blobsDir),
    wakeUps,
    parked: new ParkedCalls(),
    onCut: (error, { run_id, tool_call_id }) => context.log.warn({ err: error, run_id, tool_call_id }, 'a parked permission call was cut'),
    paddingMs,
  };
  return {
    module: RunnerGatewayModule,
    controllers: [PermissionController, ReportController, ResultController, TokenController, WorkspaceController],
    providers: [{ provide: PORTS, useFactory: () => ports }],
  };
}
