import path from 'node:path';
import { type ServiceName, ServiceReady, serviceNames } from '@fluidbox/contracts';
import { type EndingSteps, endOrphan, lastLines, type ManagedChild, startChild } from './child-process';
import { EmbeddedFailure } from './embedded-failure';
import { type HomeLayout, repositoryRoot } from './layout';
import { type DeploymentFacts, serviceEnvironment } from './service-environment';
import { type Supervised, supervise } from './supervise';

const READY_MS_MAX = 60_000;
const serviceEnding: EndingSteps = [
  { signal: 'SIGTERM', waitMs: 15_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];
const pidFile = (layout: HomeLayout, name: ServiceName) => path.join(layout.pids, `${name}.json`);

/** Waits until the service says it is ready; rejects when it ends before, with the end of its log. */
function untilReady(child: ManagedChild, logFile: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (what: string) => reject(new EmbeddedFailure(`${child.name} ${what}. Its log ${logFile} ends:\n${lastLines(logFile)}`));
    const timer = setTimeout(() => fail(`was not ready after ${READY_MS_MAX / 1000} s`), READY_MS_MAX);
    child.process.on('message', (message) => {
      if (!ServiceReady.safeParse(message).success) return;
      clearTimeout(timer);
      resolve();
    });
    void child.exited.then(({ code, signal }) => {
      clearTimeout(timer);
      fail(`ended at its start (${signal ?? `exit ${code}`})`);
    });
  });
}

/** The program of a service. */
export type EntryOf = (name: ServiceName) => readonly string[];
const builtEntry: EntryOf = (name) => [path.join(repositoryRoot, 'services', name, 'dist/main.js')];

async function startService(name: ServiceName, facts: DeploymentFacts, entryOf: EntryOf): Promise<ManagedChild> {
  const logFile = path.join(facts.layout.logs, `${name}.log`);
  const child = await startChild({
    name,
    command: process.execPath,
    args: entryOf(name),
    cwd: facts.layout.home,
    env: serviceEnvironment(name, facts),
    logFile,
    pidFile: pidFile(facts.layout, name),
    ending: serviceEnding,
    channel: true,
  });
  try {
    await untilReady(child, logFile);
  } catch (error) {
    await child.end();
    throw error;
  }
  return child;
}

/** Ends services that a killed `up` left behind; answers their names. */
export async function endServiceOrphans(layout: HomeLayout): Promise<string[]> {
  const ended = await Promise.all(
    serviceNames.map(async (name) => ((await endOrphan(pidFile(layout, name), serviceEnding)) ? [name] : [])),
  );
  return ended.flat();
}

export interface RunningServices {
  readonly processes: () => { readonly name: string; readonly pid: number; readonly started: string }[];
  stop(): Promise<void>;
}

/** Every service as a process of its own, started again when it ends. */
export async function startServiceProcesses(
  facts: DeploymentFacts,
  onChange: () => void,
  say: (text: string) => void,
  entryOf: EntryOf = builtEntry,
): Promise<RunningServices> {
  const started = await Promise.allSettled(
    serviceNames.map(async (name) => {
      const start = () => startService(name, facts, entryOf);
      return supervise({ name, first: await start(), start, onRestart: onChange, say });
    }),
  );
  const running = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(running.map((service: Supervised) => service.stop()));
  };
  const failures = started.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  if (failures.length > 0) {
    await stop();
    if (failures.every((failure) => failure instanceof EmbeddedFailure))
      throw new EmbeddedFailure(failures.map(({ message }) => message).join('\n\n'));
    throw new AggregateError(failures, 'some services did not start');
  }
  const processes = () =>
    running.map((service) => ({ name: service.name, pid: service.current().identity.pid, started: service.current().identity.startTime }));
  return { processes, stop };
}
