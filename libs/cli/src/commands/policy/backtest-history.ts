import type { BacktestView } from '@fluidbox/contracts';
import type { ApiClient } from '../../api/client';
import { exitCodes } from '../../exit-codes';
import type { Output } from '../../output';
import { oneLine } from '../../paint';
import { findings, openPolicyFile } from './policy-file';

export interface HistoryOptions {
  readonly to: string;
  readonly from?: string;
  readonly calls?: number;
  readonly since?: string;
  readonly ownRuns?: boolean;
}

/** A number is a version of the policy, everything else a file. */
const sideOf = (text: string): { version: number } | { source: string } =>
  /^\d+$/.test(text) ? { version: Number(text) } : { source: openPolicyFile(text).source };

/** What a version would have said to the calls that the stack recorded. Ends with 1 when it would have let one through more easily. */
export function backtestHistory(name: string, options: HistoryOptions): (api: ApiClient, output: Output) => Promise<number> {
  const { to, from, calls, since, ownRuns } = options;
  const body = {
    to: sideOf(to),
    ...(from === undefined ? {} : { from: sideOf(from) }),
    ...(calls === undefined ? {} : { calls }),
    ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
    ...(ownRuns === true ? { runs: 'of_policy' as const } : {}),
  };
  return async (api, output) => {
    const report = await api.backtestPolicy(name, body);
    if (output.json) output.out(JSON.stringify(report));
    else for (const line of linesOf(report, output)) output.out(line);
    return report.loosens ? findings : exitCodes.ok;
  };
}

function linesOf(report: BacktestView, { paint }: Output): string[] {
  const changes = [...Object.entries(report.changes), ['undetermined', report.undetermined] as const].filter(([, { count }]) => count > 0);
  const said = ({ verdict, rule, line, reason }: BacktestView['undetermined']['examples'][number]['before']): string =>
    `${verdict.padEnd(5)} ${rule === null ? 'no rule' : `tools[${rule}]${line === null ? '' : ` line ${line}`}`}: ${oneLine(reason, 140)}`;
  const notes = [
    ...(report.erased > 0 ? [`${report.erased} calls were erased, so nobody can say`] : []),
    ...(report.unreadable > 0 ? [`${report.unreadable} calls cannot be read by this version`] : []),
    ...(report.other_engine > 0 ? [`${report.other_engine} calls were recorded by another version of the engine`] : []),
    ...(report.complete ? [] : [paint.yellow('the time was up before all calls were read')]),
  ];
  return [
    ...changes.flatMap(([kind, { count, examples }]) => [
      `${paint.bold(kind)} ${count}`,
      ...examples.flatMap(({ run, call_id, tool, call, before, after }) => [
        `  ${[run, call_id].filter((part) => part !== null).join(' ')}: ${tool} ${oneLine(call, 100)}`,
        paint.dim(`    before ${said(before)}`),
        paint.dim(`    after  ${said(after)}`),
      ]),
      ...(count > examples.length ? [`  … and ${count - examples.length} more`] : []),
    ]),
    ...notes,
    `${report.calls} calls of ${report.runs} runs, ${report.unchanged} unchanged${report.loosens ? `; ${paint.red('it lets calls through more easily')}` : ''}`,
  ];
}
