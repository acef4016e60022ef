import type { ServiceContext } from '@fluidbox/service-kit';
import { type DynamicModule, Module } from '@nestjs/common';
import { frozenRules } from './adapters/frozen-rules';
import type { Ports } from './app/ports';

export const PORTS = Symbol('Ports');

@Module({})
class GateModule {}

export const gateModule = (context: ServiceContext): DynamicModule => ({
  module: GateModule,
  providers: [
    { provide: PORTS, useFactory: (): Ports => ({ ledger: context.ledger, clock: context.clock, rulesOf: frozenRules(context.store) }) },
  ],
});
