import { PolicyDocument, Problem, RunSpec } from '@fluidbox/contracts';
import { cachedByDigest, type EventStore } from '@fluidbox/event-store';
import { type ArgumentSchema, compileArgumentSchema, compilePolicy, parsePolicy } from '@fluidbox/policy';
import type { ArgumentCheck, FrozenRules } from '../domain/rules';

/** Compiled rules by spec digest. */
export const frozenRules = (store: Pick<EventStore, 'document'>, rulesMax = 512): ((specDigest: string) => Promise<FrozenRules>) =>
  cachedByDigest((digest) => load(store, digest), rulesMax);

async function load(store: Pick<EventStore, 'document'>, digest: string): Promise<FrozenRules> {
  const bytes = await store.document(digest);
  if (bytes === null) throw new Problem('unavailable', `the frozen spec ${digest} of this run is not in the ledger`);
  const spec = RunSpec.parse(JSON.parse(bytes.toString('utf8')));
  const document = PolicyDocument.parse(spec.policy.document);
  const source = parsePolicy(spec.policy.source);
  return {
    toolSurface: new Set(spec.tool_surface),
    trustTier: spec.trust_tier,
    autonomy: spec.autonomy,
    policy: compilePolicy(document, source.ok ? source.ruleLines : []),
    policyDigest: spec.policy.digest,
    argumentSchemas: new Map(Object.entries(spec.tool_schemas ?? {}).map(([tool, schema]) => [tool, argumentCheck(tool, schema)])),
    comparedFields: spec.harness.compared_fields,
    runsEdits: spec.harness.runs_edits,
  };
}

/** Compiled at its first use: a run calls few of the tools it has. One that does not compile makes its tool un-callable, and no other. */
function argumentCheck(tool: string, schema: unknown): ArgumentCheck {
  let compiled: ArgumentSchema | undefined;
  return (args) => {
    compiled ??= compileArgumentSchema(schema);
    if (compiled.ok) return compiled.validate(args)?.summary ?? null;
    return `the frozen argument schema of ${tool} is invalid, so it cannot be called; refresh the snapshot of its server: ${compiled.problem}`.slice(
      0,
      400,
    );
  };
}
