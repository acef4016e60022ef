import type { ServiceDefinition } from '@fluidbox/service-kit';
import { subscriptions } from './adapters/subscriptions';
import { timersFollower, wakeOnLog } from './adapters/timers';
import { type LifecyclePorts, lifecycle } from './app/lifecycle';
import type { Ports } from './app/ports';
import { approvalsModule, LIFECYCLE, PORTS } from './approvals.module';
import { type Config, config } from './config';

export const definition: ServiceDefinition<Config> = {
  name: 'approvals',
  config,
  module: (context) => approvalsModule(context),
  subscriptions: (app) => subscriptions(app.get<Ports>(PORTS)),
  followers: (app) => [timersFollower(app.get<LifecyclePorts>(LIFECYCLE).loop)],
  lifecycle: (app) => lifecycle(app.get<LifecyclePorts>(LIFECYCLE)),
  onLog: (app) => wakeOnLog(app.get<LifecyclePorts>(LIFECYCLE).loop),
};
