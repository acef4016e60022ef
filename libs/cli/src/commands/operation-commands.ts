import { readModelNames } from '@fluidbox/contracts';
import { Argument, type Command } from 'commander';
import { call } from './calling';
import { listParkedCommand, rebuildCommand, replayParkedCommand } from './operations';
import { whole } from './option-values';
import { withJson } from './options';

export function registerOperations(program: Command): void {
  withJson(program.command('rebuild'))
    .addArgument(new Argument('<model>', 'read model').choices(readModelNames))
    .description('fill a read model anew from the log, beside the live one, and switch')
    .option('--no-wait', 'return when it has begun')
    .action((name: string, options: { wait: boolean; json?: boolean }) =>
      call(options.json, (api, output) => rebuildCommand(api, name, options, output)),
    );
  const parked = program.command('parked').description('events that a follower of the log gave up on');
  withJson(parked.command('list'))
    .description('which, by which follower, and why')
    .action((options: { json?: boolean }) => call(options.json, listParkedCommand));
  withJson(parked.command('replay'))
    .argument('<follower>', 'as the list names it')
    .argument('<position>', 'of the event, as the list shows it', whole)
    .description('have one handled again, after its cause was mended')
    .action((follower: string, position: number, options: { json?: boolean }) =>
      call(options.json, (api, output) => replayParkedCommand(api, follower, position, output)),
    );
}
