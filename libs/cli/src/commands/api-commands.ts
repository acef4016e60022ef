import { roles } from '@fluidbox/contracts';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ApiClient, ApiError } from '../api/client';
import { withApi } from '../api/connect';
import { exitCodeOfError } from '../exit-codes';
import { CommandFailure } from '../failure';
import { withLocalStack } from '../local-stack';
import { type Output, standardOutput } from '../output';
import { createAgentCommand, getPolicyCommand, importPolicyCommand, listAgentsCommand } from './agents';
import { approvalsCommand, decideCommand } from './approvals';
import { followRun } from './follow-run';
import { type ExplainOptions, explainCalls, testPolicyFile, validatePolicyFile } from './policy-files';
import { cancelCommand, diffCommand, getCommand, listCommand, runCommand } from './runs';
import { createTokenCommand, listTokensCommand, revokeTokenCommand } from './tokens';

const positive = (text: string): number => {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('must be a number above 0');
  return value;
};
const jsonObject = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (cause) {
    throw new InvalidArgumentError(`not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  throw new InvalidArgumentError('must be a JSON object');
};

/** Runs `work` against the API and ends the command with its exit code; refusals of the server become one line and their own code. */
async function call(json: boolean | undefined, work: (api: ApiClient, output: Output) => Promise<number>): Promise<void> {
  const output = standardOutput(json === true);
  try {
    const code = await withApi<number>(process.env, withLocalStack, (api) => work(api, output));
    if (code !== 0) throw new CommandFailure('', code);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new CommandFailure(`${error.message} (${error.code})`, exitCodeOfError(error));
  }
}

const withJson = (command: Command): Command => command.option('--json', 'machine-readable output');

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
    .action((options: Parameters<typeof runCommand>[1] & { json?: boolean }) =>
      call(options.json, (api, output) => runCommand(api, options, output)),
    );
  withJson(program.command('watch <run>'))
    .description('follow a run as it happens')
    .option('--after <seq>', 'start after this event', Number)
    .action((run: string, options: { json?: boolean; after?: number }) =>
      call(
        options.json,
        async (api, output) =>
          (await followRun(api, run, output, { ...(options.after === undefined ? {} : { after: options.after }) })).exitCode,
      ),
    );
  withJson(program.command('get <run>'))
    .description('show a run; the exit code is its outcome')
    .action((run: string, options: { json?: boolean }) => call(options.json, (api, output) => getCommand(api, run, output)));
  withJson(program.command('list'))
    .description('list runs, newest first')
    .option('--limit <n>', 'at most this many', positive, 20)
    .option('--cursor <cursor>', 'continue a list')
    .option('--status <status>', 'only runs in this status')
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
  const token = program.command('token').description('named API tokens');
  withJson(token.command('create'))
    .requiredOption('--name <name>', 'what stands in the record for its holder')
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).makeOptionMandatory())
    .option('--ttl-days <days>', 'lifetime (default 90)', positive)
    .action((options: { json?: boolean; name: string; role: (typeof roles)[number]; ttlDays?: number }) =>
      call(options.json, (api, output) => createTokenCommand(api, options, output)),
    );
  withJson(token.command('list')).action((options: { json?: boolean }) => call(options.json, listTokensCommand));
  withJson(token.command('revoke <name>')).action((name: string, options: { json?: boolean }) =>
    call(options.json, (api, output) => revokeTokenCommand(api, name, output)),
  );

  const agent = program.command('agent').description('agents and their revisions');
  withJson(agent.command('create'))
    .requiredOption('--name <name>')
    .option('--harness <id>', 'default claude-agent-sdk')
    .option('--model <model>')
    .option('--policy <name>', 'default `default`')
    .option('--system-prompt <text>')
    .option('--read-only', 'the read-only trust tier')
    .action((options: Parameters<typeof createAgentCommand>[1] & { json?: boolean }) =>
      call(options.json, (api, output) => createAgentCommand(api, options, output)),
    );
  withJson(agent.command('list')).action((options: { json?: boolean }) => call(options.json, listAgentsCommand));

  const policy = program.command('policy').description('policies and their versions');
  withJson(policy.command('import'))
    .requiredOption('--name <name>')
    .requiredOption('--file <path>', '`-` reads stdin')
    .option('--summary <text>')
    .option('--base-version <n>', 'refuse when another version is newest', Number)
    .action((options: Parameters<typeof importPolicyCommand>[1] & { json?: boolean }) =>
      call(options.json, (api, output) => importPolicyCommand(api, options, output)),
    );
  withJson(policy.command('get <name>'))
    .option('--version <n>', 'default: newest', Number)
    .action((name: string, options: { json?: boolean; version?: number }) =>
      call(options.json, (api, output) => getPolicyCommand(api, name, options.version, output)),
    );

  registerPolicyFiles(policy);
}

/** Works on files alone: no stack, no network. */
function registerPolicyFiles(policy: Command): void {
  const onFile = (work: (output: Output) => number, json: boolean | undefined): void => {
    const code = work(standardOutput(json === true));
    if (code !== 0) throw new CommandFailure('', code);
  };
  withJson(policy.command('validate <file>'))
    .description('parse strictly and name every problem with its line; exit 1 on findings')
    .action((file: string, { json }: { json?: boolean }) => onFile((output) => validatePolicyFile(file, output), json));
  withJson(policy.command('test <file>'))
    .description('run the tests that stand in the document')
    .action((file: string, { json }: { json?: boolean }) => onFile((output) => testPolicyFile(file, output), json));
  withJson(policy.command('explain'))
    .description('what the gate would say to a call, by which rule, and what would change it')
    .requiredOption('--policy <file>')
    .option('--tool <name>')
    .option('--input <json>', 'input of the call', jsonObject)
    .option('--cwd <dir>', 'where relative paths start (default /workspace)')
    .option('--calls <file>', 'one {tool, input, cwd?} per line instead')
    .addOption(new Option('--tier <tier>').choices(['trusted', 'read_only']))
    .option('--autonomous', 'nobody is there to answer')
    .action((options: ExplainOptions & { json?: boolean }) => onFile((output) => explainCalls(options, output), options.json));
}
