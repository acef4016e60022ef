import { v1BodyBytesMax } from '@fluidbox/contracts';
import type { ServiceDefinition } from '@fluidbox/service-kit';
import { type Config, config } from './config';
import { gatewayModule } from './gateway.module';

/** The public plane: HTTP `/v1` with its event stream, API tokens. It decides who may see and ask; what is asked is decided by its owner. */
export const definition: ServiceDefinition<Config> = {
  name: 'gateway',
  config,
  module: (context, settings) => gatewayModule(context, settings),
  http: ({ port, address }) => ({ port, address, bodyBytesMax: v1BodyBytesMax }),
};
