import { backtest, type ChangeKind, changeKinds, diffPolicies, type RecordedCall } from '@fluidbox/policy';
import { exitCodes } from '../../exit-codes';
import type { Output } from '../../output';
import { oneLine } from '../../paint';
import { findings, openPolicyFile } from './policy-file';

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

export interface BacktestOptions {
  readonly from: string;
  readonly to: string;
}

/** What another version of a policy would have said to recorded calls. Ends with 1 when it would have let one through more easily. */
export async function backtestPolicies({ from, to }: BacktestOptions, calls: AsyncIterable<RecordedCall>, output: Output): Promise<number> {
  const report = await backtest(openPolicyFile(from).policy, openPolicyFile(to).policy, calls);
  if (output.json) output.out(JSON.stringify(report));
  else {
    const show = (kind: ChangeKind | 'undetermined', { count, examples }: (typeof report)['undetermined']): void => {
      if (count === 0) return;
      output.out(`${output.paint.bold(kind)} ${count}`);
      for (const { run, callId, number, tool, call, before, after } of examples) {
        const name = [run, callId].filter((part) => part !== null).join(' ') || `call ${number}`;
        output.out(`  ${name}: ${tool} ${oneLine(call, 100)}`);
        output.out(output.paint.dim(`    before ${before.verdict}: ${oneLine(before.reason, 160)}`));
        output.out(output.paint.dim(`    after  ${after.verdict}: ${oneLine(after.reason, 160)}`));
      }
      if (count > examples.length) output.out(`  … and ${count - examples.length} more`);
    };
    for (const kind of changeKinds) show(kind, report.changes[kind]);
    show('undetermined', report.undetermined);
    if (report.otherEngine > 0) output.out(`${report.otherEngine} calls were recorded by another version of the engine`);
    output.out(
      `${report.calls} calls, ${report.unchanged} unchanged${report.loosens ? `; ${output.paint.red('it lets calls through more easily')}` : ''}`,
    );
  }
  return report.loosens ? findings : exitCodes.ok;
}

/** What changed between two documents, and which of their stored tests are decided otherwise. Ends with 1 when it may loosen. */
export function diffPolicyFiles(from: string, to: string, output: Output): number {
  const diff = diffPolicies(openPolicyFile(from).policy.document, openPolicyFile(to).policy.document);
  if (output.json) output.out(JSON.stringify(diff));
  else {
    const colour = { narrows: output.paint.green, none: output.paint.dim, loosens: output.paint.red, unclear: output.paint.yellow };
    for (const { change, effect, text } of diff.changes)
      output.out(`${colour[effect](effect.padEnd(7))} ${change.padEnd(7)} ${oneLine(text, 200)}`);
    for (const { tool, input, before, after } of diff.verdicts)
      output.out(`verdict ${before} → ${after}: ${tool} ${oneLine(JSON.stringify(input), 120)}`);
    output.out(
      `${counted(diff.changes.length, 'change')}, ${counted(diff.verdicts.length, 'verdict')} of stored tests${diff.loosens ? `; ${output.paint.red('it may let calls through more easily')}` : ''}`,
    );
  }
  return diff.loosens ? findings : exitCodes.ok;
}
