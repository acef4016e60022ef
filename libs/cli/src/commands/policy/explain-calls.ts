import { entryOfPart, evaluate, explain, gateProjection, noHistory, rewriteForAutonomy, type ToolCall } from '@fluidbox/policy';
import { exitCodes } from '../../exit-codes';
import { CommandFailure } from '../../failure';
import { readNamedText } from '../../named-file';
import type { Output } from '../../output';
import { oneLine, plain } from '../../paint';
import { openPolicyFile, type PolicyFile, showMarked } from './policy-file';
import { callsIn } from './read-calls';

export interface ExplainOptions {
  readonly policy: string;
  readonly tool?: string;
  readonly input?: Record<string, unknown>;
  readonly cwd?: string;
  readonly calls?: string;
  readonly tier?: 'trusted' | 'read_only';
  readonly autonomous?: boolean;
}

/** What the gate would say to a call under this file, which rule says so, and what would change it. */
export function explainCalls(options: ExplainOptions, output: Output): number {
  const calls = callsOf(options);
  const file = openPolicyFile(options.policy);
  for (const call of calls) explainOne(file, call, options, output);
  return exitCodes.ok;
}

function callsOf({ tool, input, cwd, calls }: ExplainOptions): ToolCall[] {
  if (calls !== undefined && (tool ?? input ?? cwd) !== undefined)
    throw new CommandFailure('--calls FILE stands in the place of --tool, --input and --cwd', exitCodes.usage);
  if (cwd !== undefined && !cwd.startsWith('/'))
    throw new CommandFailure(`--cwd ${cwd}: must be an absolute path, such as /workspace`, exitCodes.usage);
  if (calls !== undefined) return callsIn(readNamedText(calls, '--calls'), calls);
  if (tool === undefined) throw new CommandFailure('--tool NAME with --input JSON, or --calls FILE', exitCodes.usage);
  return [{ tool, input: input ?? {}, ...(cwd === undefined ? {} : { cwd }) }];
}

function explainOne(file: PolicyFile, call: ToolCall, options: ExplainOptions, output: Output): void {
  const { policy, parsed } = file;
  const said = explain(policy, call, options.tier ?? 'trusted');
  const rewritten = rewriteForAutonomy(evaluate(policy, call, noHistory), options.autonomous === true ? 'autonomous' : 'supervised');
  const byAutonomy = said.stage === 'policy' && rewritten.originalVerdict !== null;
  const verdict = byAutonomy ? rewritten.verdict : said.verdict;
  const reason = byAutonomy ? rewritten.reason : said.reason;
  const source = byAutonomy ? 'autonomy_rewrite' : said.stage;
  const { commands = [] } = gateProjection(call).shell ?? {};
  const parts = said.parts.map((part) => {
    const entry = entryOfPart(policy.document, said.rule?.index ?? null, part.rule);
    return { ...part, depth: depthOf(commands, part.node), place: entry === null ? null : parsed.placeOf(entry) };
  });
  if (output.json) {
    const shown = parts.map(({ place, ...part }) => ({ ...part, line: place?.line ?? null }));
    const { rule, history, passedOver, toAllow } = said;
    output.out(JSON.stringify({ verdict, source, rule, reason, parts: shown, history, passedOver, toAllow }));
    return;
  }
  const colour = { allow: output.paint.green, ask: output.paint.yellow, deny: output.paint.red };
  output.out(`${colour[verdict](verdict.toUpperCase())} ${output.paint.bold(call.tool)} ${oneLine(JSON.stringify(call.input), 120)}`);
  output.out(`  because  ${plain(reason)} ${output.paint.dim(`(${source})`)}`);
  if (said.rule !== null) {
    const { line, column } = parsed.placeOf(['tools', said.rule.index]);
    output.out(`  rule     tools[${said.rule.index}], ${options.policy}:${line}:${column}`);
  }
  for (const { command, verdict: part, rule, reason: why, depth, place } of parts) {
    const where = place === null ? '' : ` at ${options.policy}:${place.line}:${place.column}`;
    output.out(
      `  ${colour[part](part.padEnd(5))} ${'  '.repeat(depth)}${oneLine(command, 60)} ${output.paint.dim(oneLine(`${rule}${where}: ${why}`, 200))}`,
    );
  }
  const deciding = parts.find((part) => part.verdict === said.verdict && part.verdict !== 'allow' && part.place !== null);
  if (deciding?.place != null) showMarked(file.source, deciding.place, output);
  for (const { condition, met, text } of said.history) output.out(`  history  ${condition}: ${met ? 'met' : 'not met'}, ${text}`);
  for (const why of new Set(said.passedOver.map((rule) => rule.why))) {
    const rules = said.passedOver.filter((rule) => rule.why === why).map(({ index }) => `tools[${index}]`);
    output.out(output.paint.dim(`  passed   ${rules.join(', ')}: ${why}`));
  }
  if (said.toAllow !== null) output.out(`  to allow ${plain(said.toAllow)}`);
}

/** How many commands stand around this one: a substitution in an argument, what a wrapper runs. */
function depthOf(commands: readonly { readonly within: number | null }[], node: number | null): number {
  let depth = 0;
  for (let at = node === null ? null : (commands[node]?.within ?? null); at !== null; at = commands[at]?.within ?? null) depth++;
  return depth;
}
