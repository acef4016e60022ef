import path from 'node:path';
import { runStatuses } from '@fluidbox/contracts';
import { type Command, Option } from 'commander';
import { call, connected } from './calling';
import { dollars, whole, wholeOrZero } from './option-values';
import { withJson } from './options';
import { cancelCommand, diffCommand, getCommand, listCommand, runCommand, watchCommand, workspaceOf } from './runs';

export function registerRuns(program: Command): void {
  withJson(program.command('run'))
    .description('start a run and follow it; `--task -` reads the task from stdin')
    .requiredOption('--task <text>', 'what the agent shall do')
    .requiredOption('--agent <name>', 'agent to run (`agent create` makes one)')
    .option('--repo <path>', 'copy this folder as the workspace (the original is never touched)')
    .option('--git <url>', 'fetch this repository as the workspace')
    .option('--ref <ref>', 'branch, tag or full commit id for --git')
    .option('--autonomous', 'no person will answer: `ask` becomes the policy’s fallback')
    .option('--max-cost-usd <usd>', 'narrow the cost budget', dollars)
    .option('--max-tool-calls <n>', 'narrow the tool-call budget', whole)
    .option('--idempotency-key <key>', 'a repeat with this key answers the first run')
    .option('--detach', 'print the id and return')
    .action((options: Parameters<typeof runCommand>[1] & { json?: boolean }) => {
      // Before a stack is started: a wrong call costs nothing.
      workspaceOf(options);
      const sources = options.repo === undefined ? [] : [path.resolve(options.repo)];
      return connected(options.json, (connection, output) => runCommand(connection, options, output), sources);
    });
  withJson(program.command('watch <run>'))
    .description('follow a run as it happens')
    .option('--after <seq>', 'start after this event', wholeOrZero)
    .action((run: string, { json, ...options }: { json?: boolean; after?: number }) =>
      connected(json, (connection, output) => watchCommand(connection, run, options, output)),
    );
  withJson(program.command('get <run>'))
    .description('show a run; the exit code is its outcome')
    .action((run: string, options: { json?: boolean }) => call(options.json, (api, output) => getCommand(api, run, output)));
  withJson(program.command('list'))
    .description('list runs, newest first')
    .option('--limit <n>', 'at most this many', whole, 20)
    .option('--cursor <cursor>', 'continue a list')
    .addOption(new Option('--status <status>', 'only runs in this status').choices([...runStatuses, 'awaiting_approval']))
    .action(({ json, ...query }: { json?: boolean; limit: number; cursor?: string; status?: string }) =>
      call(json, (api, output) => listCommand(api, query, output)),
    );
  withJson(program.command('cancel <run>'))
    .description('cancel a run')
    .action((run: string, options: { json?: boolean }) => call(options.json, (api, output) => cancelCommand(api, run, output)));
  withJson(program.command('diff <run>'))
    .description('print the diff of a run (git apply takes it)')
    .action((run: string, options: { json?: boolean }) =>
      call(options.json, (api, output) => diffCommand(api, run, output, (bytes) => void process.stdout.write(bytes))),
    );
}
