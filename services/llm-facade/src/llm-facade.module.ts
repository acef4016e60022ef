import { llmBodyBytesMax } from '@fluidbox/contracts';
import { createRunTokenVerifier, loadKek, loadPublicKeys, readSecretFile } from '@fluidbox/seal';
import type { ServiceContext } from '@fluidbox/service-kit';
import { type DynamicModule, Inject, Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { budgetAccounts } from './adapters/budget-accounts';
import { LlmController } from './adapters/llm.controller';
import { openRuns } from './adapters/open-runs';
import { type OwnUpstream, orgUpstreams } from './adapters/org-upstreams';
import { leaveBodiesUnread } from './adapters/raw-bodies';
import { specReader } from './adapters/run-specs';
import { PORTS, REQUESTS } from './adapters/tokens';
import { createUpstream } from './adapters/upstream';
import { upstreamKeys } from './adapters/upstream-keys';
import { upstreamTable } from './adapters/upstream-table';
import type { FacadeLog, Organisations, Ports } from './app/ports';
import { RecentLimits } from './app/recent-limits';
import { RequestsInFlight } from './app/requests-in-flight';
import { ReservationQueue } from './app/reservation-queue';
import type { Config } from './config';
import type { DialectId } from './domain/dialect';
import { dialects } from './domain/dialects';

@Module({})
class LlmFacadeModule implements OnModuleInit {
  constructor(@Inject(HttpAdapterHost) private readonly http: HttpAdapterHost) {}

  onModuleInit(): void {
    leaveBodiesUnread(this.http);
  }
}

export function llmFacadeModule(context: ServiceContext, config: Config): DynamicModule {
  const accounts = budgetAccounts(context.sql);
  const organisations: Organisations = {
    table: upstreamTable(context.sql),
    keys: upstreamKeys(loadKek(config.kekFile)),
    privateHosts: config.upstreamPrivateHosts,
  };
  const ports: Ports = {
    ledger: context.ledger,
    tokens: createRunTokenVerifier(loadPublicKeys(config.tokenPublicKeysFile)),
    clock: context.clock,
    ids: context.ids,
    specOf: specReader(context.store),
    upstreams: orgUpstreams({ own: upstreamsOf(config, context.log), organisations, clock: context.clock, log: context.log }),
    organisations,
    queue: new ReservationQueue(),
    openRuns: () => openRuns(context.sql),
    accounts,
    recentLimits: new RecentLimits(accounts.limitedOf),
    log: context.log,
    settings: { reservationWaitMs: 20_000, bodyBytesMax: llmBodyBytesMax, bookingPatienceMs: 30_000 },
  };
  return facadeOn(ports);
}

/** The facade on ports that stand already: what tests start it with. */
export function facadeOn(ports: Ports): DynamicModule {
  return {
    module: LlmFacadeModule,
    controllers: [LlmController],
    providers: [
      { provide: PORTS, useFactory: () => ports },
      { provide: REQUESTS, useFactory: () => new RequestsInFlight() },
    ],
  };
}

/** A provider without a key is no error: its dialect is refused with the reason until there is one. */
function upstreamsOf(config: Config, log: FacadeLog): ReadonlyMap<DialectId, OwnUpstream> {
  const upstreams = dialects.flatMap(({ id, provider }): [DialectId, OwnUpstream][] => {
    const { url: baseUrl, keyFile: file } = config.providers[id];
    if (file === undefined) return [];
    const key = readSecretFile(file, `model key (${provider.keyVariable})`).trim();
    if (!/^[\x21-\x7e]+$/.test(key))
      throw new Error(`${file} (${provider.keyVariable}) must hold the API key of the model provider and nothing else`);
    return [[id, { upstream: createUpstream({ baseUrl, provider, key }), key }]];
  });
  if (upstreams.length === 0) {
    const variables = dialects.map(({ provider }) => provider.keyVariable).join(' or ');
    log.warn(
      {},
      `no ${variables}: model requests are refused until one names a file with the API key of its provider, or the organisation has an upstream of its own`,
    );
  }
  return new Map(upstreams);
}
