import { v1BodyBytesMax } from '@fluidbox/contracts';
import type { ServiceDefinition } from '@fluidbox/service-kit';
import { GatewayConfig } from './config';
import { GatewayModule } from './gateway.module';

/** The public plane: HTTP `/v1` with its event stream, API tokens. It decides who may see and ask; what is asked is decided by its owner. */
export const definition: ServiceDefinition<GatewayConfig> = {
  name: 'gateway',
  config: GatewayConfig,
  module: (context, config) => GatewayModule.register(context, config),
  http: (config) => ({ port: config.port, address: config.address, bodyBytesMax: v1BodyBytesMax }),
};
