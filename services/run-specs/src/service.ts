import { seedPolicies as seeds } from '@fluidbox/policy/seeds';
import type { ServiceDefinition } from '@fluidbox/service-kit';
import { subscriptions } from './adapters/subscriptions';
import type { Ports } from './app/ports';
import { seedPolicies } from './app/seed-policies';
import { type Config, config } from './config';
import { PORTS, runSpecsModule } from './run-specs.module';

export const definition: ServiceDefinition<Config> = {
  name: 'run-specs',
  config,
  module: (context, settings) => runSpecsModule(context, settings),
  subscriptions: (app) => subscriptions(app.get<Ports>(PORTS)),
  lifecycle: (app) => ({
    start: () => seedPolicies(app.get<Ports>(PORTS), seeds()),
    stop: () => Promise.resolve(),
  }),
};
