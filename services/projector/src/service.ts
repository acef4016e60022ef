import type { ServiceDefinition } from '@fluidbox/service-kit';
import { checkpointFollower, readModelFollower, republishFollower } from './adapters/followers';
import { lifecycle } from './app/lifecycle';
import { type Config, config } from './config';
import { PORTS, type Ports, projectorModule } from './projector.module';

export const definition: ServiceDefinition<Config> = {
  name: 'projector',
  config,
  module: (context, settings) => projectorModule(context, settings),
  followers: (app) => {
    const ports = app.get<Ports>(PORTS);
    return [
      readModelFollower(ports.project),
      checkpointFollower(ports.checkpoints, ports.checkpoints.clock),
      republishFollower(ports.republish),
    ];
  },
  lifecycle: (app) => lifecycle(app.get<Ports>(PORTS).lifecycle),
  onLog: (app) => {
    const { ear } = app.get<Ports>(PORTS);
    return (message) => ear.hear(message);
  },
};
