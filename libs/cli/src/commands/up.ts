import {
  homeFolder,
  type Interruption,
  listenForInterruption,
  type RunningStack,
  type StackMode,
  type StackOptions,
  startStack,
} from '@fluidbox/embedded';
import type { Command } from 'commander';
import { print, say } from '../output';
import { stackOptions } from '../stack-options';
import { withModel } from '../stand-in-model';

function describe({ up }: RunningStack, sources: string | undefined): string {
  return [
    `public     ${up.public_url}   (API, /v1)`,
    `control    ${up.control_url}   (runners)`,
    `llm        ${up.llm_url}   (model calls of runners)`,
    `nats       ${up.nats_url}`,
    `postgres   ${up.database_host}`,
    `admin token is in ${up.files.admin_token}`,
    `folders that run --repo may copy: ${sources === undefined || sources === '' ? 'none (start with FLUIDBOX_LOCAL_SOURCES=/path/a:/path/b)' : sources}`,
    'Ctrl-C stops it',
  ].join('\n');
}

async function runUntilInterrupted(options: StackOptions, { signal, interrupted }: Interruption): Promise<void> {
  const stack = await startStack({ ...options, preferWellKnownPorts: true, signal });
  print(describe(stack, options.environment.FLUIDBOX_LOCAL_SOURCES));
  await interrupted.catch(() => say('stopping'));
  await stack.stop();
  say('stopped');
}

export function registerUp(program: Command): void {
  program
    .command('up')
    .description('start the whole stack on this machine and keep it running until Ctrl-C')
    .option('--processes', 'every service as its own process, started again when it ends')
    .action(({ processes }: { processes?: boolean }) => {
      // Before the start: what has been started when Ctrl-C comes has to be ended too.
      const interruption = listenForInterruption();
      const mode: StackMode = processes === true ? 'processes' : 'all-in-one';
      return withModel(process.env, (environment) =>
        runUntilInterrupted({ ...stackOptions(homeFolder()), environment, mode }, interruption),
      );
    });
}
