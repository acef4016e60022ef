import {
  type AgentView,
  type Budgets,
  type BudgetsInput,
  type CreateAgentBody,
  type EventDraft,
  harnesses,
  harnessOf,
  isHarnessId,
  microUsdOf,
  Problem,
  type RecordedEvent,
  type ReviseAgentBody,
  timelineEvent,
  type WorkspaceInput,
} from '@fluidbox/contracts';

/** An agent is a name with numbered revisions. A revision is never changed; a run freezes the newest one of the moment it is created. */
export type AgentState = { readonly status: 'absent' } | KnownAgent;
export interface KnownAgent {
  readonly status: 'known';
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly revision: AgentRevision;
}
export interface AgentRevision {
  readonly number: number;
  readonly harness: string;
  readonly model: string;
  readonly policy: string;
  readonly budgets: Budgets | null;
  readonly trustTier: 'trusted' | 'read_only';
  readonly workspace: WorkspaceInput | null;
  readonly description: string | null;
  /** The prompt is sealed content of the event at `seq`; a revision that inherits it points to the same event. */
  readonly prompt: { readonly digest: string; readonly seq: number } | null;
}

export const agentFold = {
  initial: (): AgentState => ({ status: 'absent' }),
  evolve(state: AgentState, recorded: RecordedEvent): AgentState {
    const event = timelineEvent(recorded);
    if (event === null) return state;
    if (event.type === 'agent.created') {
      return {
        status: 'known',
        id: event.data.agent_id,
        name: event.data.name,
        createdAt: event.occurredAt,
        updatedAt: event.occurredAt,
        revision: unrevised,
      };
    }
    if (event.type !== 'agent.revised' || state.status === 'absent') return state;
    const { data } = event;
    return {
      ...state,
      updatedAt: event.occurredAt,
      revision: {
        number: data.revision,
        harness: data.harness,
        model: data.model,
        policy: data.policy,
        budgets: data.budgets,
        trustTier: data.trust_tier,
        workspace: data.workspace as WorkspaceInput | null,
        description: data.description,
        prompt: promptAfter(state.revision.prompt, data.system_prompt_digest, event.seq),
      },
    };
  },
};

const unrevised: AgentRevision = {
  number: 0,
  harness: '',
  model: '',
  policy: '',
  budgets: null,
  trustTier: 'trusted',
  workspace: null,
  description: null,
  prompt: null,
};

/** The same digest under the same salt is the same prompt: it was inherited, and stays where it was first written. */
function promptAfter(before: AgentRevision['prompt'], digest: string | null, seq: number): AgentRevision['prompt'] {
  if (digest === null) return null;
  return before?.digest === digest ? before : { digest, seq };
}

export interface RevisionContext {
  readonly by: string;
  readonly policyExists: boolean;
  /** Salted digest of the prompt in the body, where it has one. */
  readonly promptDigest: string | null;
}

/** Both first events, or why not. A name that is taken is a conflict, also for the same body: create is not an upsert. */
export function decideCreateAgent(
  state: AgentState,
  body: CreateAgentBody,
  context: RevisionContext & { agentId: string },
): readonly EventDraft[] | Problem {
  if (state.status === 'known') return new Problem('conflict', `agent ${body.name} exists; add a revision to change it`);
  const revision = nextRevision(unrevised, body, context);
  if (revision instanceof Problem) return revision;
  const actor = `principal:${context.by}`;
  return [{ type: 'agent.created', data: { agent_id: context.agentId, name: body.name, by: context.by }, actor }, revision];
}

/** The next revision, or nothing when it would equal the newest one. */
export function decideReviseAgent(
  state: AgentState,
  name: string,
  body: ReviseAgentBody,
  context: RevisionContext,
): readonly EventDraft[] | Problem {
  if (state.status === 'absent') return new Problem('not_found', `there is no agent ${name}`);
  const revision = nextRevision(state.revision, body, context);
  if (revision instanceof Problem) return revision;
  return sameRevision(state.revision, revision) ? [] : [revision];
}

type RevisionDraft = Extract<EventDraft, { type: 'agent.revised' }>;

function nextRevision(base: AgentRevision, body: ReviseAgentBody, context: RevisionContext): RevisionDraft | Problem {
  const harness = body.harness ?? base.harness;
  if (!isHarnessId(harness)) return unprocessable('/harness', `unknown harness ${harness}; known: ${Object.keys(harnesses).join(', ')}`);
  const row = harnessOf(harness);
  // Another harness speaks to other models, so the model is inherited only within one.
  const inherited = harness === base.harness ? base.model : row.defaultModel;
  const model = body.model === undefined ? inherited : (body.model ?? row.defaultModel);
  if (model === null || !row.models.includes(model)) {
    return unprocessable('/model', `harness ${harness} has no model ${model ?? '(none given)'}; known: ${row.models.join(', ')}`);
  }
  const policy = body.policy ?? base.policy;
  if (!context.policyExists) return unprocessable('/policy', `there is no policy ${policy}; import it first`);
  const prompt = body.system_prompt ?? null;
  return {
    type: 'agent.revised',
    actor: `principal:${context.by}`,
    data: {
      revision: base.number + 1,
      harness,
      model,
      policy,
      budgets: body.budgets === undefined ? base.budgets : storedBudgets(body.budgets),
      trust_tier: body.trust_tier ?? base.trustTier,
      workspace: body.workspace === undefined ? base.workspace : body.workspace,
      description: body.description === undefined ? base.description : body.description,
      by: context.by,
      system_prompt_digest: body.system_prompt === undefined ? (base.prompt?.digest ?? null) : context.promptDigest,
    },
    ...(prompt === null ? {} : { content: { system_prompt: prompt } }),
  };
}

function sameRevision(base: AgentRevision, draft: RevisionDraft): boolean {
  const { data } = draft;
  return (
    base.harness === data.harness &&
    base.model === data.model &&
    base.policy === data.policy &&
    base.trustTier === data.trust_tier &&
    base.description === data.description &&
    (base.prompt?.digest ?? null) === data.system_prompt_digest &&
    JSON.stringify(base.budgets) === JSON.stringify(data.budgets) &&
    JSON.stringify(base.workspace) === JSON.stringify(data.workspace)
  );
}

export const unprocessable = (pointer: string, detail: string): Problem =>
  new Problem('unprocessable', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] });

/** A cap that was left out narrows nothing, and neither does `null`: stored they are the same. */
function storedBudgets(input: BudgetsInput | null): Budgets | null {
  if (input === null) return null;
  const cost = input.max_cost_usd ?? null;
  return {
    max_wall_clock_secs: input.max_wall_clock_secs ?? null,
    max_tokens: input.max_tokens ?? null,
    max_cost_micro_usd: cost === null ? null : microUsdOf(cost),
    max_tool_calls: input.max_tool_calls ?? null,
  };
}

/** As a person writes them. */
export function budgetsInput(stored: Budgets | null): BudgetsInput | null {
  if (stored === null) return null;
  return {
    max_wall_clock_secs: stored.max_wall_clock_secs,
    max_tokens: stored.max_tokens,
    max_cost_usd: stored.max_cost_micro_usd === null ? null : stored.max_cost_micro_usd / 1_000_000,
    max_tool_calls: stored.max_tool_calls,
  };
}

export const agentView = (agent: KnownAgent): AgentView => ({
  id: agent.id,
  name: agent.name,
  revision: agent.revision.number,
  description: agent.revision.description,
  harness: agent.revision.harness,
  model: agent.revision.model,
  policy: agent.revision.policy,
  has_system_prompt: agent.revision.prompt !== null,
  budgets: budgetsInput(agent.revision.budgets),
  trust_tier: agent.revision.trustTier,
  workspace: agent.revision.workspace,
  created_at: agent.createdAt,
  updated_at: agent.updatedAt,
});
