import fs from 'node:fs';
import path from 'node:path';
import type { StartAllInOne } from '@fluidbox/service-kit';
import { EmbeddedFailure } from './embedded-failure';
import { repositoryRoot } from './layout';
import { allInOneEnvironment, type DeploymentFacts } from './service-environment';
import type { RunningServices } from './service-processes';

/** Starts all services inside this process. */
export type StartInProcess = (facts: DeploymentFacts) => Promise<RunningServices>;

/** By path, as the services that run alone are: nothing below the services depends on one. */
export const startAllInOne: StartInProcess = async (facts) => {
  const entry = path.join(repositoryRoot, 'services/all-in-one/dist/index.js');
  if (!fs.existsSync(entry)) throw new EmbeddedFailure(`${entry} is missing. Fix: npm run build`);
  const { startAllInOne: start } = (await import(entry)) as { startAllInOne: StartAllInOne };
  const running = await start(allInOneEnvironment(facts));
  return { processes: () => [], stop: () => running.stop() };
};
