import { llmBodyBytesMax } from '@fluidbox/contracts';
import type { ServiceDefinition } from '@fluidbox/service-kit';
import { subscriptions } from './adapters/subscriptions';
import { PORTS, REQUESTS } from './adapters/tokens';
import { lifecycle } from './app/lifecycle';
import type { Ports } from './app/ports';
import type { RequestsInFlight } from './app/requests-in-flight';
import { type Config, config } from './config';
import { llmFacadeModule } from './llm-facade.module';

/** The model plane: what a run may ask its model, what that may cost, and proof that every call the model made went through the gate. */
export const definition: ServiceDefinition<Config> = {
  name: 'llm-facade',
  config,
  module: (context, settings) => llmFacadeModule(context, settings),
  http: ({ port, address }) => ({ port, address, bodyBytesMax: llmBodyBytesMax }),
  subscriptions: (app) => subscriptions(app.get<Ports>(PORTS)),
  lifecycle: (app) => lifecycle(app.get<Ports>(PORTS), app.get<RequestsInFlight>(REQUESTS)),
  // Another facade may have settled what a request here waits for.
  onLog: (app) => {
    const { queue } = app.get<Ports>(PORTS);
    return (message) => {
      if (message.category === 'run') queue.wake(message.id);
    };
  },
};
