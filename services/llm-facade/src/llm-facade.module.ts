import { llmBodyBytesMax } from '@fluidbox/contracts';
import { createRunTokenVerifier, loadPublicKeys, readSecretFile } from '@fluidbox/seal';
import type { ServiceContext } from '@fluidbox/service-kit';
import { type DynamicModule, Inject, Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { LlmController } from './adapters/llm.controller';
import { openRuns } from './adapters/open-runs';
import { leaveBodiesUnread } from './adapters/raw-bodies';
import { specReader } from './adapters/run-specs';
import { PORTS, REQUESTS } from './adapters/tokens';
import { createUpstream } from './adapters/upstream';
import type { FacadeLog, Ports, Upstream } from './app/ports';
import { RequestsInFlight } from './app/requests-in-flight';
import { ReservationQueue } from './app/reservation-queue';
import type { Config } from './config';
import { anthropicMessages } from './domain/anthropic-messages';

@Module({})
class LlmFacadeModule implements OnModuleInit {
  constructor(@Inject(HttpAdapterHost) private readonly http: HttpAdapterHost) {}

  onModuleInit(): void {
    leaveBodiesUnread(this.http);
  }
}

export function llmFacadeModule(context: ServiceContext, config: Config): DynamicModule {
  const ports: Ports = {
    ledger: context.ledger,
    tokens: createRunTokenVerifier(loadPublicKeys(config.tokenPublicKeysFile)),
    clock: context.clock,
    ids: context.ids,
    specOf: specReader(context.store),
    upstream: upstreamOf(config, context.log),
    queue: new ReservationQueue(),
    openRuns: () => openRuns(context.sql),
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

function upstreamOf(config: Config, log: FacadeLog): Upstream | null {
  const { anthropicKeyFile: file, anthropicUrl: baseUrl } = config;
  if (file === undefined) {
    log.warn({}, 'no FLUIDBOX_ANTHROPIC_KEY_FILE: model requests are refused until it names a file with the API key of the provider');
    return null;
  }
  const key = readSecretFile(file, 'model key (FLUIDBOX_ANTHROPIC_KEY_FILE)').trim();
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new Error(`${file} (FLUIDBOX_ANTHROPIC_KEY_FILE) must hold the API key of the model provider and nothing else`);
  return createUpstream({ baseUrl, credential: anthropicMessages.credentialHeaders(key) });
}
