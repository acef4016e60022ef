import { costDimensions, gateDimensions } from '@fluidbox/contracts';
import { type Command, Option } from 'commander';
import { call } from './calling';
import { day } from './option-values';
import { withJson } from './options';
import { costsCommand, decisionsCommand } from './reports';

const withPeriod = (command: Command): Command =>
  withJson(command)
    .option('--from <day>', 'first day, YYYY-MM-DD in UTC (default: 29 days before the last)', day)
    .option('--to <day>', 'last day (default: today)', day);

export function registerReports(program: Command): void {
  withPeriod(program.command('costs'))
    .description('tokens and money of a period, by agent, model or day')
    .addOption(new Option('--by <what>', 'what to sum by').choices(costDimensions).default('agent'))
    .action(({ json, ...options }: Parameters<typeof costsCommand>[1] & { json?: boolean }) =>
      call(json, (api, output) => costsCommand(api, options, output)),
    );
  withPeriod(program.command('stats'))
    .description('decisions of the gate in a period')
    .addOption(new Option('--by <what>', 'what to count by').choices(gateDimensions).default('tool'))
    .action(({ json, ...options }: Parameters<typeof decisionsCommand>[1] & { json?: boolean }) =>
      call(json, (api, output) => decisionsCommand(api, options, output)),
    );
}
