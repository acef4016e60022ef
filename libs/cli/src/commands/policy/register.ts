import { type Command, InvalidArgumentError, Option } from 'commander';
import { CommandFailure } from '../../failure';
import { type Output, standardOutput } from '../../output';
import { type BacktestOptions, backtestPolicies, diffPolicyFiles } from './backtest-policies';
import { lintPolicyFile, testPolicyFile, validatePolicyFile } from './check-policy';
import { type ExplainOptions, explainCalls } from './explain-calls';
import { recordedCalls } from './read-calls';

const checkHelp = `
In a pull-request check, one line:
  npm run -s fluidbox -- policy validate p.yaml && npm run -s fluidbox -- policy lint p.yaml && npm run -s fluidbox -- policy test p.yaml`;

const withJson = (command: Command): Command => command.option('--json', 'machine-readable output');
const jsonObject = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (cause) {
    throw new InvalidArgumentError(`not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  throw new InvalidArgumentError('must be a JSON object');
};

export function onFiles(work: (output: Output) => number, json: boolean | undefined): void {
  const code = work(standardOutput(json === true));
  if (code !== 0) throw new CommandFailure('', code);
}

/** Commands that work on files alone: no stack, no network. */
export function registerPolicyFiles(policy: Command): void {
  withJson(policy.command('validate <file>'))
    .description('parse strictly and name every problem with its line; exit 1 on findings')
    .addHelpText('after', checkHelp)
    .action((file: string, { json }: { json?: boolean }) => onFiles((output) => validatePolicyFile(file, output), json));
  withJson(policy.command('lint <file>'))
    .description('name what is written without effect, with its line and the fix; exit 1 on findings')
    .addHelpText('after', checkHelp)
    .action((file: string, { json }: { json?: boolean }) => onFiles((output) => lintPolicyFile(file, output), json));
  withJson(policy.command('test <file>'))
    .description('run the tests that stand in the document; exit 1 when one fails')
    .addHelpText('after', checkHelp)
    .action((file: string, { json }: { json?: boolean }) => onFiles((output) => testPolicyFile(file, output), json));
  withJson(policy.command('diff <old> <new>'))
    .description('what changed between two documents, and whether it may let calls through more easily (exit 1)')
    .action((from: string, to: string, { json }: { json?: boolean }) => onFiles((output) => diffPolicyFiles(from, to, output), json));
  withJson(policy.command('backtest'))
    .description('what another version would have said to recorded calls; exit 1 when it would have let one through more easily')
    .requiredOption('--from <file>', 'the document that decides now')
    .requiredOption('--to <file>', 'the one that shall')
    .requiredOption(
      '--calls <file>',
      'one call per line: {tool, input, cwd?} or {projection}, with run, call_id, at, ok, ran where known; `-` reads stdin',
    )
    .action(async ({ json, calls, ...options }: BacktestOptions & { calls: string; json?: boolean }) => {
      const code = await backtestPolicies(options, recordedCalls(calls), standardOutput(json === true));
      if (code !== 0) throw new CommandFailure('', code);
    });
  withJson(policy.command('explain'))
    .description('what the gate would say to a call, by which rule, and what would change it')
    .requiredOption('--policy <file>', 'the document; `-` reads stdin')
    .option('--tool <name>', 'tool of the call')
    .option('--input <json>', 'input of the call', jsonObject)
    .option('--cwd <dir>', 'where relative paths start (default /workspace)')
    .option('--calls <file>', 'one {tool, input, cwd?} per line instead')
    .addOption(new Option('--tier <tier>', 'trust tier of the agent (default trusted)').choices(['trusted', 'read_only']))
    .option('--autonomous', 'nobody is there to answer')
    .action((options: ExplainOptions & { json?: boolean }) => onFiles((output) => explainCalls(options, output), options.json));
}
