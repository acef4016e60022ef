import type { PolicyDocument } from '@fluidbox/contracts';
import { compilePolicy, diffPolicies } from '@fluidbox/policy';
import { loosenedCalls, looseningReasons } from '../domain/loosening';
import type { PolicyVersion, SecondPersonNeeded } from '../domain/policy';
import { overHistory } from './backtest-policy';
import type { Ports } from './ports';
import { sourceOf } from './read-policy';

/** Whether the version that governs now asks for a second person before `next` takes its place. Its own word binds, not that of the next one. */
export async function secondPersonNeeded(
  ports: Ports,
  org: string,
  name: string,
  base: PolicyVersion,
  next: { readonly document: PolicyDocument; readonly ruleLines: readonly number[] },
): Promise<SecondPersonNeeded | null> {
  const parsed = ports.policies.parse(await sourceOf(ports, name, base));
  const proposalId = ports.ids.uuid();
  if (!parsed.ok)
    return { proposalId, reasons: [`version ${base.version} can no longer be read, so nobody can compare it`], backtest: null };
  const { second_person } = parsed.document.publish;
  if (second_person === 'never') return null;
  if (second_person === 'always') return { proposalId, reasons: ['the policy asks for a second person always'], backtest: null };
  const [before, after] = [compilePolicy(parsed.document, parsed.ruleLines), compilePolicy(next.document, next.ruleLines)];
  const { report, seen, tools } = await overHistory(ports, org, before, after);
  const evidence = { report, tools, complete: seen.complete && seen.erased + seen.unreadable === 0 };
  const reasons = looseningReasons(before, after, diffPolicies(parsed.document, next.document), evidence);
  if (reasons.length === 0) return null;
  return {
    proposalId,
    reasons,
    backtest: {
      calls: report.calls,
      loosened: loosenedCalls(report),
      undetermined: report.undetermined.count,
      erased: seen.erased,
      complete: seen.complete,
    },
  };
}
