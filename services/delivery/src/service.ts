import type { ServiceDefinition } from '@fluidbox/service-kit';
import { deliveriesFollower, type FollowerPorts } from './adapters/follower';
import { subscriptions } from './adapters/subscriptions';
import { type LifecyclePorts, lifecycle } from './app/lifecycle';
import type { ManagePorts } from './app/ports';
import { type Config, config } from './config';
import { deliveryModule, FOLLOWER, LIFECYCLE, MANAGE } from './delivery.module';

/** Signed webhooks: who subscribed, what each is told, and what came of it. */
export const definition: ServiceDefinition<Config> = {
  name: 'delivery',
  config,
  module: (context, settings) => deliveryModule(context, settings),
  subscriptions: (app) => subscriptions(app.get<ManagePorts>(MANAGE)),
  followers: (app) => [deliveriesFollower(app.get<FollowerPorts>(FOLLOWER))],
  lifecycle: (app) => lifecycle(app.get<LifecyclePorts>(LIFECYCLE)),
};
