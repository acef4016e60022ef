import { homeFolder, type RunningStack, type StackMode, startStack } from '@fluidbox/embedded';
import type { Command } from 'commander';
import { print, say } from '../output';
import { stackOptions } from '../stack-options';

/** Resolves at the first request to stop; further ones are ignored while the stop is under way (a terminal and npm both send one). */
function stopRequested(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve(signal));
  });
}

function describe({ up }: RunningStack): string {
  return [
    `public     ${up.public_url}   (dashboard and API, /v1)`,
    `control    ${up.control_url}   (runners)`,
    `llm        ${up.llm_url}   (model calls of runners)`,
    `nats       ${up.nats_url}`,
    `postgres   ${up.database_host}`,
    `admin token is in ${up.files.admin_token}`,
  ].join('\n');
}

export function registerUp(program: Command): void {
  program
    .command('up')
    .description('start the whole stack on this machine and keep it running until Ctrl-C')
    .option('--processes', 'every service as its own process, started again when it ends')
    .action(async ({ processes }: { processes?: boolean }) => {
      // Before the start: a Ctrl-C during it must still end what has been started.
      const stop = stopRequested();
      const mode: StackMode = processes === true ? 'processes' : 'all-in-one';
      const stack = await startStack({ ...stackOptions(homeFolder()), mode, preferWellKnownPorts: true });
      print(describe(stack));
      const signal = await stop;
      say(`${signal}: stopping`);
      await stack.stop();
      say('stopped');
    });
}
