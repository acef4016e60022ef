import type { ServiceContext } from '@fluidbox/service-kit';
import { type DynamicModule, Module } from '@nestjs/common';
import { allowsSourceIn } from './adapters/local-sources';
import { nameDirectory } from './adapters/name-directory';
import { policyParser } from './adapters/policy-parser';
import { priceTable } from './adapters/price-table';
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
    names: nameDirectory(context.store),
    policies: policyParser,
    prices: priceTable(config.priceTableFile),
    runnerDigest: runnerDigestIn(config.imagesDir),
    allowsSource: allowsSourceIn(config.localSources),
  };
  return { module: RunSpecsModule, providers: [{ provide: PORTS, useFactory: () => ports }] };
}
