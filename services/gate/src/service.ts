import type { ServiceDefinition } from '@fluidbox/service-kit';
import { subscriptions } from './adapters/subscriptions';
import type { Ports } from './app/ports';
import { type Config, config } from './config';
import { gateModule, PORTS } from './gate.module';

export const definition: ServiceDefinition<Config> = {
  name: 'gate',
  config,
  module: (context) => gateModule(context),
  subscriptions: (app) => subscriptions(app.get<Ports>(PORTS)),
};
