import type { ServiceDefinition } from '@fluidbox/service-kit';
import { checkpointFollower, readModelFollower, republishFollower } from './adapters/followers';
import { subscriptions } from './adapters/subscriptions';
import { lifecycle } from './app/lifecycle';
import { type Config, config } from './config';
import { PORTS, type Ports, projectorModule } from './projector.module';

export const definition: ServiceDefinition<Config> = {
  name: 'projector',
  config,
  module: (context, settings) => projectorModule(context, settings),
  subscriptions: (app) => subscriptions(app.get<Ports>(PORTS).admin),
  followers: (app) => {
    const ports = app.get<Ports>(PORTS);
    return [
      readModelFollower(ports.project),
      checkpointFollower(ports.checkpoints, ports.checkpoints.clock),
      republishFollower(ports.republish),
    ];
  },
  lifecycle: (app) => {
    const { lifecycle: ports, rebuilds } = app.get<Ports>(PORTS);
    const heads = lifecycle(ports);
    return {
      async start() {
        await heads.start();
        await rebuilds.resume();
      },
      async stop() {
        await rebuilds.stop();
        await heads.stop();
      },
    };
  },
  onLog: (app) => {
    const { ear } = app.get<Ports>(PORTS);
    return (message) => ear.hear(message);
  },
};
