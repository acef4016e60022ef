import { runStream } from '@fluidbox/contracts';
import { mentions, type ServiceDefinition } from '@fluidbox/service-kit';
import { openRunsFollower, wakingTypes } from './adapters/open-runs';
import { subscriptions } from './adapters/subscriptions';
import { type LifecyclePorts, lifecycle } from './app/lifecycle';
import type { Ports } from './app/ports';
import { type Config, config } from './config';
import { LIFECYCLE, PORTS, runsModule } from './runs.module';

export const definition: ServiceDefinition<Config> = {
  name: 'runs',
  config,
  module: (context, settings) => runsModule(context, settings),
  subscriptions: (app) => subscriptions(app.get<Ports>(PORTS)),
  followers: (app) => [openRunsFollower(app.get<LifecyclePorts>(LIFECYCLE).loop)],
  lifecycle: (app) => lifecycle(app.get<LifecyclePorts>(LIFECYCLE)),
  onLog: (app) => {
    const { loop } = app.get<LifecyclePorts>(LIFECYCLE);
    return (message) => {
      if (message.category === 'run' && mentions(message, wakingTypes)) loop.wake(runStream(message.id, message.org), message.lastSeq);
    };
  },
};
