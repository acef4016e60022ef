import type { ServiceDefinition } from '@fluidbox/service-kit';
import { openRunsFollower } from './adapters/open-runs';
import { subscriptions } from './adapters/subscriptions';
import { type LifecyclePorts, lifecycle } from './app/lifecycle';
import type { Ports } from './app/ports';
import { type Config, config } from './config';
import { LIFECYCLE, PORTS, RunsModule } from './runs.module';

export const definition: ServiceDefinition<Config> = {
  name: 'runs',
  config,
  module: (context, settings) => RunsModule.with(context, settings),
  subscriptions: (app) => subscriptions(app.get<Ports>(PORTS)),
  followers: (app) => [openRunsFollower(app.get<LifecyclePorts>(LIFECYCLE).loop)],
  lifecycle: (app) => lifecycle(app.get<LifecyclePorts>(LIFECYCLE)),
  onLog: (app) => {
    const { loop } = app.get<LifecyclePorts>(LIFECYCLE);
    return (message) => {
      if (message.category === 'run') loop.wake(message.id, message.org, message.lastSeq);
    };
  },
};
