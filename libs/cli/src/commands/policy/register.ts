import { backtestCallsMax, type HarnessId, harnesses } from '@fluidbox/contracts';
import { type Command, Option } from 'commander';
import { exitCodes } from '../../exit-codes';
import { CommandFailure } from '../../failure';
import { call, onFiles } from '../calling';
import { jsonObject, time } from '../option-values';
import { withJson } from '../options';
import { backtestHistory } from './backtest-history';
import { backtestPolicies, diffPolicyFiles } from './backtest-policies';
import { lintPolicyFile, testPolicyFile, validatePolicyFile } from './check-policy';
import { type ExplainOptions, explainCalls } from './explain-calls';
import { recordedCalls } from './read-calls';
import { registerPolicyVersions } from './register-versions';

const checkHelp = `
In a pull-request check, one line:
  npm run -s fluidbox -- policy validate p.yaml && npm run -s fluidbox -- policy lint p.yaml && npm run -s fluidbox -- policy test p.yaml`;

const backtestHelp = `
With a name: over the newest calls that the stack recorded. --to and --from are files or versions, --calls is how many (at most ${backtestCallsMax}).
Without one: over the calls of a file, one a line: {tool, input, cwd?} or {projection}, with run, call_id, at, ok, ran where known; \`-\` reads stdin.`;

interface BacktestWords {
  readonly to: string;
  readonly from?: string;
  readonly calls?: string;
  readonly since?: string;
  readonly ownRuns?: boolean;
  readonly json?: boolean;
}

function backtestAction(name: string | undefined, words: BacktestWords): Promise<void> {
  const { json, calls, to, from } = words;
  if (name === undefined) {
    if (from === undefined || calls === undefined)
      throw new CommandFailure('name a policy for the recorded calls of the stack, or give --from FILE and --calls FILE', exitCodes.usage);
    if (words.since !== undefined || words.ownRuns === true)
      throw new CommandFailure('--since and --own-runs choose among the recorded calls of a stack: name a policy', exitCodes.usage);
    return onFiles(json, (output) => backtestPolicies({ from, to }, recordedCalls(calls), output));
  }
  if (calls !== undefined && !(/^[1-9]\d{0,4}$/.test(calls) && Number(calls) <= backtestCallsMax))
    throw new CommandFailure(
      `--calls ${calls}: with a policy it is how many recorded calls, from 1 to ${backtestCallsMax}`,
      exitCodes.usage,
    );
  const { calls: _, ...rest } = words;
  const work = backtestHistory(name, { ...rest, ...(calls === undefined ? {} : { calls: Number(calls) }) });
  return call(json, work);
}

/** Commands that work on files alone: no stack, no network; and `backtest`, which does either. */
function registerPolicyFiles(policy: Command): void {
  withJson(policy.command('validate <file>'))
    .description('parse strictly and name every problem with its line; exit 1 on findings')
    .addHelpText('after', checkHelp)
    .action((file: string, { json }: { json?: boolean }) => onFiles(json, (output) => validatePolicyFile(file, output)));
  withJson(policy.command('lint <file>'))
    .description('name what is written without effect, with its line and the fix; exit 1 on findings')
    .addOption(new Option('--harness <id>', 'the one that runs under it (default: any)').choices(Object.keys(harnesses)))
    .addHelpText('after', checkHelp)
    .action((file: string, { json, harness }: { json?: boolean; harness?: HarnessId }) =>
      onFiles(json, (output) => lintPolicyFile(file, output, harness)),
    );
  withJson(policy.command('test <file>'))
    .description('run the tests that stand in the document; exit 1 when one fails')
    .addHelpText('after', checkHelp)
    .action((file: string, { json }: { json?: boolean }) => onFiles(json, (output) => testPolicyFile(file, output)));
  withJson(policy.command('diff <old> <new>'))
    .description('what changed between two documents, and whether it may let calls through more easily (exit 1)')
    .action((from: string, to: string, { json }: { json?: boolean }) => onFiles(json, (output) => diffPolicyFiles(from, to, output)));
  withJson(policy.command('backtest [name]'))
    .description('what another version would have said to recorded calls; exit 1 when it would have let one through more easily')
    .requiredOption('--to <file>', 'the document that shall decide; with a name also a version')
    .option('--from <file>', 'the one that decides now; with a name also a version (default: the newest)')
    .option('--calls <calls>', 'how many recorded calls, or the file that holds them')
    .option('--since <time>', 'with a name: only runs that made a call since then', time)
    .option('--own-runs', 'with a name: only runs that ran under this policy')
    .addHelpText('after', backtestHelp)
    .action((name: string | undefined, words: BacktestWords) => backtestAction(name, words));
  withJson(policy.command('explain'))
    .description('what the gate would say to a call, by which rule, and what would change it')
    .requiredOption('--policy <file>', 'the document; `-` reads stdin')
    .option('--tool <name>', 'tool of the call')
    .option('--input <json>', 'input of the call', jsonObject)
    .option('--cwd <dir>', 'where relative paths start (default /workspace)')
    .option('--calls <file>', 'one {tool, input, cwd?} per line instead')
    .addOption(new Option('--tier <tier>', 'trust tier of the agent (default trusted)').choices(['trusted', 'read_only']))
    .option('--autonomous', 'nobody is there to answer')
    .action((options: ExplainOptions & { json?: boolean }) => onFiles(options.json, (output) => explainCalls(options, output)));
}

export function registerPolicies(program: Command): void {
  const policy = program.command('policy').description('policies and their versions');
  registerPolicyVersions(policy);
  registerPolicyFiles(policy);
}
