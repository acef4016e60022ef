import { type BacktestBody, type BacktestView, backtestCallsMax, Problem } from '@fluidbox/contracts';
import { type BacktestReport, backtest, type ChangedCall, type CompiledPolicy, compilePolicy, type RecordedCall } from '@fluidbox/policy';
import type { HistorySeen, Ports } from './ports';
import { versionSource } from './read-policy';
import { refusedSource } from './refused-source';

/** What one policy and another say to the newest recorded calls. Nothing is stored. */
export async function backtestPolicy(
  ports: Ports,
  { org, name, body }: { org: string; name: string; body: BacktestBody },
): Promise<BacktestView> {
  const startedAt = performance.now();
  const [before, after] = [await sideOf(ports, org, name, body.from ?? null), await sideOf(ports, org, name, body.to)];
  const { report, seen } = await overHistory(ports, org, before, after, {
    calls: body.calls,
    since: body.since === undefined ? null : new Date(body.since),
    ofPolicy: body.runs === 'of_policy' ? name : null,
  });
  const shown = ({ run, callId, tool, call, before: old, after: next }: ChangedCall) => ({
    run,
    call_id: callId,
    tool,
    call,
    before: { ...old, line: lineOf(before, old.rule) },
    after: { ...next, line: lineOf(after, next.rule) },
  });
  const change = ({ count, examples }: BacktestReport['undetermined']) => ({ count, examples: examples.map(shown) });
  return {
    policy: name,
    calls: report.calls,
    runs: seen.runs,
    unchanged: report.unchanged,
    changes: Object.fromEntries(Object.entries(report.changes).map(([kind, found]) => [kind, change(found)])),
    undetermined: change(report.undetermined),
    erased: seen.erased,
    unreadable: seen.unreadable,
    other_engine: report.otherEngine,
    complete: seen.complete,
    loosens: report.loosens,
    duration_ms: Math.round(performance.now() - startedAt),
  };
}

const lineOf = (policy: CompiledPolicy, rule: number | null): number | null => (rule === null ? null : (policy.rules[rule]?.line ?? null));

async function sideOf(ports: Ports, org: string, name: string, side: BacktestBody['to'] | null): Promise<CompiledPolicy> {
  const source =
    side !== null && 'source' in side ? side.source : await versionSource(ports, org, name, side === null ? null : side.version);
  const parsed = ports.policies.parse(source);
  if (!parsed.ok) throw refusedSource(parsed.problems);
  return compilePolicy(parsed.document, parsed.ruleLines);
}

export interface Replayed {
  readonly report: BacktestReport;
  readonly seen: HistorySeen;
  /** Names of the tools that were called. */
  readonly tools: ReadonlySet<string>;
}

/** Names come from sandboxes. */
const toolsMax = 1_000;

/** The same question for whoever publishes: over everything the organisation recorded. */
export async function overHistory(
  ports: Ports,
  org: string,
  before: CompiledPolicy,
  after: CompiledPolicy,
  wanted: { readonly calls: number; readonly since: Date | null; readonly ofPolicy: string | null } = everything,
): Promise<Replayed> {
  const seen: HistorySeen = { runs: 0, erased: 0, unreadable: 0, complete: true };
  const tools = new Set<string>();
  async function* noted(): AsyncGenerator<RecordedCall> {
    for await (const call of ports.history.read(org, wanted, seen)) {
      if (tools.size < toolsMax) tools.add(call.projection.tool);
      yield call;
    }
  }
  try {
    return { report: await backtest(before, after, noted()), seen, tools };
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem('internal', 'a recorded call could not be decided again', { cause: error });
  }
}

const everything = { calls: backtestCallsMax, since: null, ofPolicy: null };
