import type { ServiceDefinition } from '@fluidbox/service-kit';
import { sandboxesFollower, wakeOnLog } from './adapters/sandbox-table';
import { type LifecyclePorts, lifecycle } from './app/lifecycle';
import { type Config, config } from './config';
import { LIFECYCLE, schedulerModule } from './scheduler.module';

export const definition: ServiceDefinition<Config> = {
  name: 'scheduler',
  config,
  module: (context, settings) => schedulerModule(context, settings),
  followers: (app) => [sandboxesFollower(app.get<LifecyclePorts>(LIFECYCLE).loop)],
  lifecycle: (app) => lifecycle(app.get<LifecyclePorts>(LIFECYCLE)),
  onLog: (app) => wakeOnLog(app.get<LifecyclePorts>(LIFECYCLE).loop),
};
