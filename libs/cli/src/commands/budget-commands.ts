import { type Command, Option } from 'commander';
import { listBudgetsCommand, setBudgetCommand } from './budgets';
import { call } from './calling';
import { dollarsOrNone } from './option-values';
import { withJson } from './options';

export function registerBudgets(program: Command): void {
  const budget = program.command('budget').description('limits that many runs share');
  withJson(budget.command('set'))
    .description('limit what the organisation or an agent may spend; it binds the next model request')
    .requiredOption('--scope <scope>', '`org` or `agent:<name>`')
    .requiredOption('--max-cost-usd <usd>', 'the limit in dollars; `none` lifts it', dollarsOrNone)
    .addOption(new Option('--period <period>', 'in all, or in each calendar month (UTC)').choices(['total', 'month']).default('month'))
    .action(({ json, ...options }: Parameters<typeof setBudgetCommand>[1] & { json?: boolean }) =>
      call(json, (api, output) => setBudgetCommand(api, options, output)),
    );
  withJson(budget.command('list'))
    .description('what was spent, is reserved and may be spent')
    .action((options: { json?: boolean }) => call(options.json, listBudgetsCommand));
}
