import type { HistoryCondition } from '@fluidbox/contracts';
import type { CompiledPolicy } from '../compile';
import { ruleFor } from '../evaluate';
import type { GateProjection } from '../projection';
import { mayRun, provablyRuns } from './command-runs';
import type { CompiledCondition, NamedCall } from './condition';

/**
 * The history conditions that this call counts for, if it is allowed: what the gate writes beside `tool.requested`. A condition that
 * opens (`requires`) counts a call only when it provably is the named one; one that closes (`forbid_after`) when it may be.
 */
export function matchesOf(policy: CompiledPolicy, projection: GateProjection): HistoryCondition[] {
  if (policy.conditions.length === 0) return [];
  const decidedBy = ruleFor(policy, projection)?.index ?? null;
  return policy.conditions.filter((condition) => counts(condition, projection, decidedBy)).map(({ name }) => name);
}

function counts(condition: CompiledCondition, projection: GateProjection, decidedBy: number | null): boolean {
  switch (condition.kind) {
    case 'rate':
    case 'count':
      return condition.rule === decidedBy;
    case 'requires':
      return condition.call.matchesTool(projection.tool) && isNamed(condition.call, condition.ok, projection);
    case 'forbid_after':
      return condition.call.matchesTool(projection.tool) && mayBeNamed(condition.call, projection);
  }
}

const isNamed = ({ command }: NamedCall, ok: boolean | null, { shell, mended }: GateProjection): boolean =>
  !mended && (command === null || (shell !== null && provablyRuns(command, shell, ok)));

const mayBeNamed = ({ command }: NamedCall, { shell }: GateProjection): boolean =>
  command === null || shell === null || mayRun(command, shell);
