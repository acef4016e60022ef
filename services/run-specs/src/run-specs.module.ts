import type { ServiceContext } from '@fluidbox/service-kit';
import { type DynamicModule, Module } from '@nestjs/common';
import { allowsSourceIn } from './adapters/local-sources';
import { nameDirectory } from './adapters/name-directory';
import { policyParser } from './adapters/policy-parser';
import { priceTable } from './adapters/price-table';
import { recordedCalls } from './adapters/recorded-calls';
import { runnerDigestIn } from './adapters/runner-images';
import type { Ports } from './app/ports';
import type { Config } from './config';

export const PORTS = Symbol('Ports');

@Module({})
class RunSpecsModule {}

export function runSpecsModule(context: ServiceContext, config: Config): DynamicModule {
  const ports: Ports = {
    ledger: context.ledger,
    clock: context.clock,
    ids: context.ids,
    names: nameDirectory(context.store),
    policies: policyParser,
    history: recordedCalls(context.sql, context.keyring),
    prices: priceTable(config.priceTableFile),
    runnerDigest: runnerDigestIn(config.imagesDir),
    allowsSource: allowsSourceIn(config.localSources),
  };
  return { module: RunSpecsModule, providers: [{ provide: PORTS, useFactory: () => ports }] };
}
