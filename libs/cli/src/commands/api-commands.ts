import path from 'node:path';
import { costDimensions, gateDimensions, harnesses, readModelNames, roles, runStatuses } from '@fluidbox/contracts';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { ApiClient } from '../api/client';
import { type Connection, withApi } from '../api/connect';
import { CommandFailure } from '../failure';
import { type LocalStack, withLocalStack } from '../local-stack';
import { type Output, standardOutput } from '../output';
import { type AgentOptions, createAgentCommand, listAgentsCommand, reviseAgentCommand } from './agents';
import { approvalsCommand, decideCommand } from './approvals';
import { listBudgetsCommand, setBudgetCommand } from './budgets';
import { listParkedCommand, rebuildCommand, replayParkedCommand } from './operations';
import { jsonObject, withJson } from './options';
import { registerPolicyFiles } from './policy/register';
import { registerPolicyVersions } from './policy/register-versions';
import { costsCommand, decisionsCommand } from './reports';
import { cancelCommand, diffCommand, getCommand, listCommand, runCommand, watchCommand, workspaceOf } from './runs';
import { createTokenCommand, listTokensCommand, revokeTokenCommand } from './tokens';

const positive = (text: string): number => {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('must be a number above 0');
  return value;
};

/** Runs `work` against the API and ends the command with its exit code. `sources`: folders that a stack started for it may copy. */
async function connected(
  json: boolean | undefined,
  work: (connection: Connection, output: Output) => Promise<number>,
  sources: readonly string[] = [],
): Promise<void> {
  const output = standardOutput(json === true);
  const withSources = (use: (stack: LocalStack) => Promise<number>): Promise<number> => withLocalStack(use, { sources });
  const code = await withApi<number>(process.env, withSources, (connection) => work(connection, output));
  if (code !== 0) throw new CommandFailure('', code);
}

/** The same for what needs the API and nothing of the stack. */
export const call = (json: boolean | undefined, work: (api: ApiClient, output: Output) => Promise<number>): Promise<void> =>
  connected(json, ({ api }, output) => work(api, output));

const withPeriod = (command: Command): Command =>
  withJson(command)
    .option('--from <day>', 'first day, YYYY-MM-DD in UTC (default: 29 days before the last)')
    .option('--to <day>', 'last day (default: today)');

function registerReports(program: Command): void {
  withPeriod(program.command('costs'))
    .description('tokens and money of a period, by agent, model or day')
    .addOption(new Option('--by <what>', 'what to sum by').choices(costDimensions).default('agent'))
    .action((options: Parameters<typeof costsCommand>[1] & { json?: boolean }) =>
      call(options.json, (api, output) => costsCommand(api, periodOptions(options), output)),
    );
  withPeriod(program.command('stats'))
    .description('decisions of the gate in a period')
    .addOption(new Option('--by <what>', 'what to count by').choices(gateDimensions).default('tool'))
    .action((options: Parameters<typeof decisionsCommand>[1] & { json?: boolean }) =>
      call(options.json, (api, output) => decisionsCommand(api, periodOptions(options), output)),
    );
}

const periodOptions = <By>({ by, from, to }: { by: By; from?: string; to?: string }) => ({
  by,
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to }),
});

function registerOperations(program: Command): void {
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
  withJson(parked.command('replay <follower> <position>'))
    .description('have one handled again, after its cause was mended')
    .action((follower: string, position: string, options: { json?: boolean }) =>
      call(options.json, (api, output) => replayParkedCommand(api, follower, positive(position), output)),
    );
}

/** The commands that speak to the public API. */
export function registerApiCommands(program: Command): void {
  withJson(program.command('run'))
    .description('start a run and follow it; `--task -` reads the task from stdin')
    .requiredOption('--task <text>', 'what the agent shall do')
    .requiredOption('--agent <name>', 'agent to run (`agent create` makes one)')
    .option('--repo <path>', 'copy this folder as the workspace (the original is never touched)')
    .option('--git <url>', 'fetch this repository as the workspace')
    .option('--ref <ref>', 'branch, tag or full commit id for --git')
    .option('--autonomous', 'no person will answer: `ask` becomes the policy’s fallback')
    .option('--max-cost-usd <usd>', 'narrow the cost budget', positive)
    .option('--max-tool-calls <n>', 'narrow the tool-call budget', positive)
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
    .option('--after <seq>', 'start after this event', Number)
    .action((run: string, options: { json?: boolean; after?: number }) =>
      connected(options.json, (connection, output) =>
        watchCommand(connection, run, options.after === undefined ? {} : { after: options.after }, output),
      ),
    );
  withJson(program.command('get <run>'))
    .description('show a run; the exit code is its outcome')
    .action((run: string, options: { json?: boolean }) => call(options.json, (api, output) => getCommand(api, run, output)));
  withJson(program.command('list'))
    .description('list runs, newest first')
    .option('--limit <n>', 'at most this many', positive, 20)
    .option('--cursor <cursor>', 'continue a list')
    .addOption(new Option('--status <status>', 'only runs in this status').choices([...runStatuses, 'awaiting_approval']))
    .action((options: { json?: boolean; limit: number; cursor?: string; status?: string }) => {
      const { json, ...query } = options;
      return call(json, (api, output) => listCommand(api, query, output));
    });
  withJson(program.command('cancel <run>'))
    .description('cancel a run')
    .action((run: string, options: { json?: boolean }) => call(options.json, (api, output) => cancelCommand(api, run, output)));
  withJson(program.command('diff <run>'))
    .description('print the diff of a run (git apply takes it)')
    .action((run: string, options: { json?: boolean }) =>
      call(options.json, (api, output) => diffCommand(api, run, output, (bytes) => void process.stdout.write(bytes))),
    );
  registerApprovals(program);
  registerManagement(program);
}

function registerApprovals(program: Command): void {
  withJson(program.command('approvals'))
    .description('what waits for a person')
    .action((options: { json?: boolean }) => call(options.json, approvalsCommand));
  withJson(program.command('approve <approval>'))
    .description('let a waiting call run')
    .option('--session', 'and the same kind of call for the rest of this run')
    .option('--edit <json>', 'run this input instead; the gate judges it again', jsonObject)
    .option('--comment <text>', 'why')
    .addHelpText(
      'after',
      `\nExample:\n  npm run -s fluidbox -- approve apr_… --edit '{"command":"git commit -m fix"}' --comment "shorter message"`,
    )
    .action((approval: string, options: { json?: boolean; session?: boolean; edit?: Record<string, unknown>; comment?: string }) => {
      const comment = options.comment === undefined ? {} : { comment: options.comment };
      if (options.edit !== undefined && options.session === true)
        throw new CommandFailure('--edit approves one call; it does not go with --session', 2);
      const body =
        options.edit === undefined
          ? { decision: options.session === true ? ('approve_session' as const) : ('approve' as const), ...comment }
          : { decision: 'edit' as const, input: options.edit, ...comment };
      return call(options.json, (api, output) => decideCommand(api, approval, body, output));
    });
  withJson(program.command('deny <approval>'))
    .description('refuse a waiting call')
    .option('--comment <text>', 'why')
    .action((approval: string, options: { json?: boolean; comment?: string }) =>
      call(options.json, (api, output) =>
        decideCommand(api, approval, { decision: 'deny', ...(options.comment === undefined ? {} : { comment: options.comment }) }, output),
      ),
    );
}

function registerManagement(program: Command): void {
  registerTokens(program.command('token').description('named API tokens'));
  registerBudgets(program.command('budget').description('limits that many runs share'));
  registerAgents(program.command('agent').description('agents and their revisions'));
  const policy = program.command('policy').description('policies and their versions');
  registerPolicyVersions(policy, call);
  registerPolicyFiles(policy, call);
  registerReports(program);
  registerOperations(program);
}

/** `none` stays a word: an option that is parsed to null comes out as an empty text. */
const dollarsOrNone = (text: string): number | 'none' => {
  if (text === 'none') return text;
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(value) || value < 0) throw new InvalidArgumentError('must be a number of dollars from 0 on, or none');
  return value;
};

function registerBudgets(budget: Command): void {
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

function registerTokens(token: Command): void {
  withJson(token.command('create'))
    .description('make a token and print it, this once')
    .requiredOption('--name <name>', 'what stands in the record for its holder')
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).makeOptionMandatory())
    .option('--ttl-days <days>', 'lifetime (default 90)', positive)
    .action((options: { json?: boolean; name: string; role: (typeof roles)[number]; ttlDays?: number }) =>
      call(options.json, (api, output) => createTokenCommand(api, options, output)),
    );
  withJson(token.command('list'))
    .description('tokens, their roles and when they expire')
    .action((options: { json?: boolean }) => call(options.json, listTokensCommand));
  withJson(token.command('revoke <name>'))
    .description('end a token now')
    .action((name: string, options: { json?: boolean }) => call(options.json, (api, output) => revokeTokenCommand(api, name, output)));
}

const withAgentOptions = (command: Command): Command =>
  withJson(command)
    .option('--description <text>', 'what it is for')
    .option('--harness <id>', `program that drives it: ${Object.keys(harnesses).join(', ')} (default: claude-agent-sdk)`)
    .option('--model <model>', 'model it talks to (default: the harness’s own)')
    .option('--policy <name>', 'policy that decides its calls (default: default)')
    .option('--system-prompt <text>', 'instructions before every task');

function registerAgents(agent: Command): void {
  withAgentOptions(agent.command('create'))
    .description('make an agent')
    .requiredOption('--name <name>', 'name to run it by')
    .option('--read-only', 'the read-only trust tier')
    .action((options: Parameters<typeof createAgentCommand>[1] & { json?: boolean }) =>
      call(options.json, (api, output) => createAgentCommand(api, options, output)),
    );
  withAgentOptions(agent.command('revise <name>'))
    .description('add a revision; what is left out stays as it is, runs that exist keep theirs')
    .addOption(new Option('--tier <tier>', 'trust tier').choices(['trusted', 'read_only']))
    .action((name: string, options: AgentOptions & { tier?: 'trusted' | 'read_only'; json?: boolean }) =>
      call(options.json, (api, output) => reviseAgentCommand(api, name, options, output)),
    );
  withJson(agent.command('list'))
    .description('agents, each in its newest revision')
    .action((options: { json?: boolean }) => call(options.json, listAgentsCommand));
}
