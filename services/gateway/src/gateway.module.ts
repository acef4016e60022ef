import { FolderBlobStore } from '@fluidbox/event-store';
import { hashApiToken, loadPublicKeys, readSecretFile, sameSecret } from '@fluidbox/seal';
import type { ServiceContext } from '@fluidbox/service-kit';
import { type DynamicModule, Module } from '@nestjs/common';
import { AgentsController } from './adapters/agents.controller';
import { ApprovalsController } from './adapters/approvals.controller';
import { ArtifactsController } from './adapters/artifacts.controller';
import { BudgetsController } from './adapters/budgets.controller';
import { postgresCheckpoints } from './adapters/checkpoints';
import { DecisionLinkController } from './adapters/decision-link.controller';
import { EventsController } from './adapters/events.controller';
import { HealthController } from './adapters/health.controller';
import { KeysController } from './adapters/keys.controller';
import { OperationsController } from './adapters/operations.controller';
import { PoliciesController } from './adapters/policies.controller';
import { PolicyProposalsController } from './adapters/policy-proposals.controller';
import { postgresReadModels } from './adapters/read-models';
import { RecordsController } from './adapters/records.controller';
import { postgresReports } from './adapters/reports';
import { ReportsController } from './adapters/reports.controller';
import { SessionsController } from './adapters/sessions.controller';
import { postgresTokenStore } from './adapters/token-store';
import { ARTIFACTS, AUTHENTICATE, CONTEXT, EXPORT, HUB, READ_MODELS, REPORTS, TOKENS } from './adapters/tokens';
import { TokensController } from './adapters/tokens.controller';
import { UpstreamsController } from './adapters/upstreams.controller';
import { WebhooksController } from './adapters/webhooks.controller';
import { type Authenticate, authenticate } from './app/authenticate';
import type { ExportPorts } from './app/export-bundle';
import { readArtifact } from './app/read-artifact';
import { readEvents } from './app/read-events';
import { WatchHub } from './app/watch-hub';
import type { Config } from './config';

@Module({})
class GatewayModule {}

export function gatewayModule(context: ServiceContext, config: Config): DynamicModule {
  const tokens = postgresTokenStore(context.sql, (error) => context.log.warn({ err: error }, 'last use of a token was not written'));
  const records: ExportPorts = {
    ledger: context.ledger,
    checkpoints: postgresCheckpoints(context.sql),
    // Read each time: a rotation adds a key while we run.
    publicKeys: () => loadPublicKeys(config.ledgerPublicKeysFile),
  };
  const adminTokenHash = hashApiToken(readSecretFile(config.adminTokenFile, 'FLUIDBOX_ADMIN_TOKEN_FILE').trim());
  return {
    module: GatewayModule,
    controllers: [
      SessionsController,
      RecordsController,
      EventsController,
      ArtifactsController,
      ApprovalsController,
      AgentsController,
      PoliciesController,
      PolicyProposalsController,
      BudgetsController,
      TokensController,
      UpstreamsController,
      WebhooksController,
      DecisionLinkController,
      KeysController,
      ReportsController,
      OperationsController,
      HealthController,
    ],
    providers: [
      { provide: CONTEXT, useValue: context },
      { provide: TOKENS, useValue: tokens },
      { provide: EXPORT, useValue: records },
      { provide: REPORTS, useFactory: () => postgresReports(context.sql) },
      { provide: READ_MODELS, useFactory: () => postgresReadModels(context.sql) },
      {
        provide: AUTHENTICATE,
        useFactory: () => authenticate({ tokens, adminTokenHash, hashToken: hashApiToken, sameSecret, now: () => context.clock.now() }),
      },
      {
        provide: HUB,
        inject: [AUTHENTICATE],
        useFactory: (checkToken: Authenticate) =>
          new WatchHub({
            readEvents: (org, runId, options) => readEvents(context.ledger, org, runId, options),
            heads: (org, streams) => context.store.heads(org, streams),
            authenticate: checkToken,
            now: () => performance.now(),
            onFailure: (doing, error) => context.log.warn({ err: error }, `${doing} failed`),
          }),
      },
      { provide: ARTIFACTS, useFactory: () => readArtifact({ ledger: context.ledger, blobs: new FolderBlobStore(config.blobsDir) }) },
    ],
  };
}
