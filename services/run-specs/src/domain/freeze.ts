import {
  budgetsOfPolicy,
  type CreateSessionBody,
  harnessOf,
  isHarnessId,
  narrowBudgets,
  type PolicyDocument,
  type PriceTable,
  Problem,
  RunSpec,
} from '@fluidbox/contracts';
import { budgetsInput, type KnownAgent, unprocessable } from './agent';
import { localSourceOf, notAllowed } from './local-source';

export interface FreezeInput {
  readonly runId: string;
  readonly org: string;
  readonly now: Date;
  readonly agent: KnownAgent;
  readonly policy: {
    readonly name: string;
    readonly version: number;
    readonly digest: string;
    readonly source: string;
    readonly document: PolicyDocument;
  };
  readonly body: CreateSessionBody;
  readonly principal: string;
  readonly invocation: 'api' | 'cli';
  readonly prices: { readonly table: PriceTable; readonly digest: string };
  /** Of each image that exists; the run starts this one or none. */
  readonly runnerDigest: (image: string) => string | undefined;
  /** Whether a workspace may be read from this folder of the machine. */
  readonly allowsSource: (folder: string) => boolean;
  readonly taskDigest: string;
  readonly systemPromptDigest: string | null;
}

/** Everything that will govern the run, or the field that forbids it. Nothing later reads an agent, a policy, a price or the harness table. */
export function freezeRunSpec(input: FreezeInput): RunSpec | Problem {
  const { agent, policy, body } = input;
  const { revision } = agent;
  if (!isHarnessId(revision.harness))
    return unprocessable('/agent', `agent ${agent.name} names the harness ${revision.harness}, which no longer exists; revise it`);
  const harness = harnessOf(revision.harness);
  if (!harness.models.includes(revision.model)) {
    return unprocessable(
      '/agent',
      `agent ${agent.name} names the model ${revision.model}, which harness ${harness.id} no longer has; revise it`,
    );
  }
  if (body.autonomous && !policy.document.autonomy.permitted) {
    return unprocessable('/autonomous', `policy ${policy.name} does not permit autonomous runs`);
  }
  const workspace = body.workspace ?? revision.workspace ?? { kind: 'scratch' };
  const source = localSourceOf(workspace);
  if (source !== null && !input.allowsSource(source.folder)) {
    const detail = notAllowed(source.folder);
    return body.workspace === undefined
      ? unprocessable('/agent', `the workspace of agent ${agent.name}: ${detail}`)
      : unprocessable(`/workspace/${source.field}`, detail);
  }
  const revised = narrowBudgets(budgetsOfPolicy(policy.document), budgetsInput(revision.budgets) ?? undefined);
  const budgets = narrowBudgets(revised, body.budgets);
  const price = Object.hasOwn(input.prices.table.models, revision.model) ? input.prices.table.models[revision.model] : undefined;
  if (price === undefined && budgets.max_cost_micro_usd !== null) {
    const detail = `model ${revision.model} has no price in table ${input.prices.table.version}, so the cost budget could not bind; add its price or lift max_cost_usd in the policy`;
    return new Problem('unknown_model_price', detail, { errors: [{ pointer: '/agent', detail }] });
  }
  const runnerDigest = input.runnerDigest(harness.image);
  if (runnerDigest === undefined) {
    return new Problem('unavailable', `the runner image ${harness.image} is not built; run \`npm run build\``);
  }
  return RunSpec.parse({
    spec_version: 1,
    run_id: input.runId,
    org: input.org,
    created_at: input.now.toISOString(),
    agent: { id: agent.id, name: agent.name, revision: revision.number },
    harness: {
      id: harness.id,
      image: harness.image,
      dialect: harness.dialect,
      tool_names: harness.toolNames,
      call_form: harness.callForm,
      text_tools: harness.textTools,
      no_effect_tools: harness.noEffectTools,
      refusal: harness.refusal,
      compared_fields: harness.comparedFields,
      runs_edits: harness.runsEdits,
      environment: harness.environment,
    },
    runner_digest: runnerDigest,
    model: revision.model,
    task_digest: input.taskDigest,
    system_prompt_digest: input.systemPromptDigest,
    policy: policy,
    workspace,
    autonomy: body.autonomous ? 'autonomous' : 'supervised',
    trust_tier: revision.trustTier,
    budgets,
    tool_surface: harness.tools,
    price_table: { version: input.prices.table.version, digest: input.prices.digest, price: price ?? null },
    invocation: { kind: input.invocation, principal: input.principal },
  });
}
