import type { RunSpec } from '@fluidbox/contracts';
import type { CoverageMode } from '../domain/coverage';

/** The policy's `coverage`; whatever is not a known weaker or stricter mode enforces. */
export function coverageModeOf(spec: RunSpec): CoverageMode {
  const { coverage } = spec.policy.document;
  return coverage === 'report' || coverage === 'strict' ? coverage : 'enforce';
}

/** The policy's `guards.idle_model_calls`; null = no guard. The document was parsed when it was published. */
export function idleModelCallsMaxOf(spec: RunSpec): number | null {
  const { guards } = spec.policy.document;
  const max = typeof guards === 'object' && guards !== null ? (guards as Record<string, unknown>).idle_model_calls : null;
  return typeof max === 'number' && max > 0 ? max : null;
}

/** The harness's own spelling of a tool → the name that gate and ledger use. */
export const canonicalTool = (spec: RunSpec, tool: string): string =>
  Object.hasOwn(spec.harness.tool_names, tool) ? (spec.harness.tool_names[tool] ?? tool) : tool;

export const offersTool = (spec: RunSpec, tool: string): boolean => spec.tool_surface.includes(canonicalTool(spec, tool));
