import { runnerBodyBytesMax } from '@fluidbox/contracts';
import type { ServiceDefinition } from '@fluidbox/service-kit';
import { PlaneFilter } from './adapters/plane.filter';
import { PORTS } from './adapters/tokens';
import type { Ports } from './app/ports';
import { type Config, config } from './config';
import { runnerGatewayModule } from './runner-gateway.module';

/** The runner plane: checks the token, asks the owner, parks calls that wait for a person. It decides nothing about a call. */
export const definition: ServiceDefinition<Config> = {
  name: 'runner-gateway',
  config,
  module: (context, settings) => runnerGatewayModule(context, settings),
  http: ({ port, address }, log) => ({ port, address, bodyBytesMax: runnerBodyBytesMax, filter: new PlaneFilter(log) }),
  onLog: (app) => {
    const { wakeUps } = app.get<Ports>(PORTS);
    return (message) => wakeUps.onLog(message);
  },
  lifecycle: (app) => ({
    start: () => Promise.resolve(),
    stop: async () => app.get<Ports>(PORTS).parked.stop(),
  }),
};
