import { v1BodyBytesMax } from '@fluidbox/contracts';
import type { ServiceContext, ServiceDefinition } from '@fluidbox/service-kit';
import { CONTEXT, HUB } from './adapters/tokens';
import type { WatchHub } from './app/watch-hub';
import { type Config, config } from './config';
import { gatewayModule } from './gateway.module';

/** The public plane: HTTP `/v1` with its event stream, API tokens. It decides who may see and ask; what is asked is decided by its owner. */
export const definition: ServiceDefinition<Config> = {
  name: 'gateway',
  config,
  module: (context, settings) => gatewayModule(context, settings),
  http: ({ port, address }) => ({ port, address, bodyBytesMax: v1BodyBytesMax }),
  onLog: (app) => {
    const hub = app.get<WatchHub>(HUB);
    return (message) => hub.hear(message);
  },
  lifecycle: (app) => {
    const hub = app.get<WatchHub>(HUB);
    return {
      async start() {
        app.get<ServiceContext>(CONTEXT).bus.onReconnect(() => void hub.look());
        hub.start();
      },
      stop: () => hub.stop(),
    };
  },
};
