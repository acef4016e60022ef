import { definition as approvals } from '@fluidbox/approvals';
import { definition as delivery } from '@fluidbox/delivery';
import { definition as gate } from '@fluidbox/gate';
import { definition as gateway } from '@fluidbox/gateway';
import { definition as llmFacade } from '@fluidbox/llm-facade';
import { definition as projector } from '@fluidbox/projector';
import { definition as runSpecs } from '@fluidbox/run-specs';
import { definition as runnerGateway } from '@fluidbox/runner-gateway';
import { definition as runs } from '@fluidbox/runs';
import { definition as scheduler } from '@fluidbox/scheduler';
import { type Environment, type RunningService, type ServiceDefinition, type StartAllInOne, startService } from '@fluidbox/service-kit';

type Start = (environment: Environment) => Promise<RunningService>;
const start =
  <C>(definition: ServiceDefinition<C>): Start =>
  (environment) =>
    startService(definition, environment);

/** Who is asked comes before who asks; whoever lets requests in comes last, and so stops first. */
const inOrder: readonly Start[] = [
  start(runSpecs),
  start(runs),
  start(gate),
  start(approvals),
  start(delivery),
  start(projector),
  start(scheduler),
  start(llmFacade),
  start(runnerGateway),
  start(gateway),
];

/** Every service in this process, each with its own Nest application, database role and NATS user: they talk over NATS here too. */
export const startAllInOne: StartAllInOne = async (environment) => {
  // One secrets file for all would give every service the same rights.
  const { FLUIDBOX_SECRETS_FILE: _, ...shared } = environment;
  const services: RunningService[] = [];
  const stop = async (): Promise<void> => {
    for (const service of services.splice(0).reverse()) await service.stop();
  };
  try {
    for (const startOne of inOrder) services.push(await startOne(shared));
  } catch (error) {
    await stop();
    throw error;
  }
  return { services: [...services], stop };
};
