import { z } from 'zod';
import { BudgetScope, BudgetView, SetBudgetBody } from './budgets';
import type { ServiceName } from './deployment';
import { ApprovalId, Digest, OrgId, RunId, Timestamp, ToolCallId } from './ids';
import {
  BacktestBody,
  BacktestView,
  CheckPolicyBody,
  ClonePolicyBody,
  DecideProposalBody,
  PolicyCheck,
  PolicyProposalView,
  PublishedPolicy,
  RevertPolicyBody,
  TokenMakers,
} from './policy-api';
import { HistoryCondition, historyConditionsMax } from './policy-history';
import {
  AgentView,
  CreateAgentBody,
  CreateSessionBody,
  DecideApprovalBody,
  ImportPolicyBody,
  PolicyView,
  Principal,
  ReviseAgentBody,
} from './public-api';
import { ParkedView, ReadModelName, ReadModelView } from './read-api';
import { RunSpec } from './run-spec';
import { HeartbeatAnswer, PermissionAnswer, ReportedEvent, ResolvedPaths, ResultAnswer, ResultRequest } from './runner-plane';
import { commandSubject } from './subjects';
import { ApprovalOutcome } from './timeline';
import { SetUpstreamBody, UpstreamDialect, UpstreamName, UpstreamView } from './upstreams';
import { CreateWebhookBody, DeliveryState, DeliveryView, WebhookView, WebhookWithSecret } from './webhooks';

/**
 * Every request one service may send another: subject `fb.cmd.<service>.<name>`, request and reply schema. A reply is either
 * `{ok: true, value}` or `{ok: false, problem}`; the bus turns the second into a thrown Problem. Who calls whom stands in call-map.json,
 * from which the NATS permissions are made; an architecture test keeps the two equal to the code.
 */
const run = { run_id: RunId, org: OrgId };

const command = <Q extends z.ZodType, R extends z.ZodType>(service: ServiceName, name: string, request: Q, reply: R) =>
  ({ service, name, subject: commandSubject(service, name), request, reply }) as const;

/** runner-gateway → gate. Same id and digest: the stored answer. `pending` = a person must decide; ask again on wake, reconnect and at `expires_at`. */
export const RequestPermission = command(
  'gate',
  'request_permission',
  z.strictObject({
    ...run,
    generation: z.number().int(),
    tool_call_id: ToolCallId,
    tool: z.string().min(1).max(256),
    input: z.record(z.string(), z.unknown()),
    resolved_paths: ResolvedPaths.optional(),
    mended: z.boolean(),
  }),
  z.discriminatedUnion('status', [
    z.strictObject({ status: z.literal('decided'), answer: PermissionAnswer }),
    z.strictObject({ status: z.literal('pending'), approval_id: ApprovalId, expires_at: Timestamp }),
  ]),
);
/** approvals → gate: would the edited input be denied? Appends nothing. */
export const EvaluateEdit = command(
  'gate',
  'evaluate_edit',
  z.strictObject({ ...run, tool_call_id: ToolCallId, input: z.record(z.string(), z.unknown()) }),
  z.strictObject({
    verdict: z.enum(['allow', 'ask', 'deny']),
    reason: z.string(),
    edited_digest: Digest,
    /** Where the policy has history conditions: which of them the edited input counts for, and the version of the run's stream it was judged at. */
    history: z.strictObject({ matches: z.array(HistoryCondition).max(historyConditionsMax), at_version: z.number().int() }).optional(),
  }),
);

/** gateway → runs. The same Idempotency-Key answers the first run (`replayed`), with another body `idempotency_mismatch`. */
export const CreateRun = command(
  'runs',
  'create',
  z.strictObject({
    principal: Principal,
    idempotency_key: z.string().min(1).max(200).nullable(),
    body: CreateSessionBody,
    invocation: z.enum(['api', 'cli']),
  }),
  z.strictObject({ run_id: RunId, replayed: z.boolean() }),
);
export const CancelRun = command(
  'runs',
  'cancel',
  z.strictObject({ ...run, principal: Principal }),
  z.strictObject({ cancelled: z.boolean() }),
);
/** gateway → runs, for an admin: destroys the content of a run that has ended. Asked again it answers what was recorded then. */
export const EraseContent = command(
  'runs',
  'erase_content',
  z.strictObject({ ...run, principal: Principal }),
  z.strictObject({ erased_at: Timestamp, erased_by: z.string() }),
);
/** scheduler → runs: the next generation of a run that was created and has no live sandbox. */
export const LaunchRun = command(
  'runs',
  'launch',
  z.strictObject({ ...run }),
  z.strictObject({
    generation: z.number().int(),
    valid_until: Timestamp,
    tokens: z.strictObject({ tool: z.string(), control: z.string(), workspace: z.string(), llm: z.string() }),
    keys: z.strictObject({ rest: z.string(), salt: z.string() }),
    task: z.string(),
    system_prompt: z.string().nullable(),
    spec_digest: Digest,
  }),
);
/** scheduler → runs, after a restart: keys of a run that it already launched (to collect a diff). Refused once the run is terminal. */
export const RunKeys = command('runs', 'run_keys', z.strictObject({ ...run }), z.strictObject({ rest: z.string(), salt: z.string() }));
/** runner-gateway → runs: what a runner reports. */
export const ReportEvent = command(
  'runs',
  'report_event',
  z.strictObject({ ...run, generation: z.number().int(), event: ReportedEvent }),
  z.strictObject({ seq: z.number().int() }),
);
export const Heartbeat = command('runs', 'heartbeat', z.strictObject({ ...run, generation: z.number().int() }), HeartbeatAnswer);
export const ReportResult = command(
  'runs',
  'report_result',
  z.strictObject({ ...run, generation: z.number().int(), result: ResultRequest }),
  ResultAnswer,
);
export const RenewLease = command(
  'runs',
  'renew_lease',
  z.strictObject({ ...run, generation: z.number().int(), ttl_secs: z.number().int().min(1).max(900) }),
  z.strictObject({ renewed: z.boolean(), ttl_secs: z.number().int() }),
);
/** runner-gateway → runs: what it needs to stream the sealed archive of a run. */
export const WorkspaceKey = command(
  'runs',
  'workspace_key',
  z.strictObject({ ...run, generation: z.number().int() }),
  z.strictObject({ archive_digest: Digest, archive_bytes: z.number().int(), key: z.string() }),
);

/** runs → run-specs. Pure of side effects but for storing the document; the caller gave the salt. */
export const FreezeRunSpec = command(
  'run-specs',
  'freeze',
  z.strictObject({ ...run, salt: z.string(), principal: Principal, invocation: z.enum(['api', 'cli']), body: CreateSessionBody }),
  z.strictObject({ spec_digest: Digest, spec: RunSpec, system_prompt: z.string().nullable() }),
);
export const CreateAgent = command('run-specs', 'create_agent', z.strictObject({ principal: Principal, body: CreateAgentBody }), AgentView);
export const ReviseAgent = command(
  'run-specs',
  'revise_agent',
  z.strictObject({ principal: Principal, name: z.string(), body: ReviseAgentBody }),
  AgentView,
);
export const GetAgent = command('run-specs', 'get_agent', z.strictObject({ org: OrgId, name: z.string() }), AgentView);
export const ListAgents = command('run-specs', 'list_agents', z.strictObject({ org: OrgId }), z.array(AgentView));
/** gateway → run-specs. `made_by` belongs to the caller's token; left out it is not known, and such a caller never needs or is a second person. */
const publisher = { principal: Principal, made_by: TokenMakers.optional(), name: z.string() };
/** How long a command that reads recorded calls may take; the service itself stops reading earlier. */
export const recordedCallsTimeoutMs = 30_000;
export const ImportPolicy = command(
  'run-specs',
  'import_policy',
  z.strictObject({ ...publisher, body: ImportPolicyBody }),
  PublishedPolicy,
);
export const RevertPolicy = command(
  'run-specs',
  'revert_policy',
  z.strictObject({ ...publisher, body: RevertPolicyBody }),
  PublishedPolicy,
);
export const ClonePolicy = command('run-specs', 'clone_policy', z.strictObject({ ...publisher, body: ClonePolicyBody }), PublishedPolicy);
export const DeletePolicy = command(
  'run-specs',
  'delete_policy',
  z.strictObject({ principal: Principal, name: z.string() }),
  z.strictObject({ name: z.string(), last_version: z.number().int() }),
);
export const GetPolicy = command(
  'run-specs',
  'get_policy',
  z.strictObject({ org: OrgId, name: z.string(), version: z.number().int().min(1).nullable() }),
  PolicyView,
);
export const ListPolicies = command(
  'run-specs',
  'list_policies',
  z.strictObject({ org: OrgId }),
  z.array(PolicyView.omit({ source: true })),
);
/** Newest first, also of a policy that was deleted. */
export const ListPolicyVersions = command(
  'run-specs',
  'list_policy_versions',
  z.strictObject({ org: OrgId, name: z.string() }),
  z.array(PolicyView.omit({ source: true })),
);
export const CheckPolicy = command('run-specs', 'check_policy', z.strictObject({ body: CheckPolicyBody }), PolicyCheck);
/** Opens the projections of recorded calls; reads only. */
export const BacktestPolicy = command(
  'run-specs',
  'backtest_policy',
  z.strictObject({ org: OrgId, name: z.string(), body: BacktestBody }),
  BacktestView,
);
/** Of one policy or of all; open ones only, unless `closed`. */
export const ListPolicyProposals = command(
  'run-specs',
  'list_policy_proposals',
  z.strictObject({ org: OrgId, name: z.string().nullable(), closed: z.boolean() }),
  z.array(PolicyProposalView.omit({ source: true })),
);
export const GetPolicyProposal = command(
  'run-specs',
  'get_policy_proposal',
  z.strictObject({ org: OrgId, name: z.string(), proposal_id: z.uuid() }),
  PolicyProposalView,
);
export const DecidePolicyProposal = command(
  'run-specs',
  'decide_policy_proposal',
  z.strictObject({ ...publisher, proposal_id: z.uuid(), body: DecideProposalBody }),
  PolicyProposalView,
);

/** gateway → approvals. A loser gets `approval_settled` with the settled decision; after `expires_at` it is `approval_expired`. */
export const DecideApproval = command(
  'approvals',
  'decide',
  z.strictObject({ org: OrgId, approval_id: ApprovalId, principal: Principal, body: DecideApprovalBody }),
  z.strictObject({
    approval_id: ApprovalId,
    decision: z.union([ApprovalOutcome, z.literal('pending')]),
    votes: z.number().int(),
    needed: z.number().int(),
  }),
);

/** gateway → llm-facade, for an admin: limits of the accounts that many runs spend from, and how they stand. */
export const SetBudget = command(
  'llm-facade',
  'set_budget',
  z.strictObject({ principal: Principal, scope: BudgetScope, body: SetBudgetBody }),
  BudgetView,
);
export const ListBudgets = command('llm-facade', 'list_budgets', z.strictObject({ org: OrgId }), z.array(BudgetView));

/** gateway → llm-facade, for an admin: the organisation's own upstreams of one dialect, in the order in which they are asked. No reply holds a key. */
export const SetUpstream = command(
  'llm-facade',
  'set_upstream',
  z.strictObject({ principal: Principal, dialect: UpstreamDialect, name: UpstreamName, body: SetUpstreamBody }),
  z.array(UpstreamView),
);
export const ListUpstreams = command(
  'llm-facade',
  'list_upstreams',
  z.strictObject({ org: OrgId, dialect: UpstreamDialect }),
  z.array(UpstreamView),
);
export const RemoveUpstream = command(
  'llm-facade',
  'remove_upstream',
  z.strictObject({ principal: Principal, dialect: UpstreamDialect, name: UpstreamName }),
  z.strictObject({ removed: z.literal(true) }),
);

/** gateway → projector, for an admin: how the read models stand, and to fill one anew beside the live one. Asked again meanwhile it changes nothing. */
export const ListReadModels = command('projector', 'list_read_models', z.strictObject({}), z.array(ReadModelView));
export const RebuildReadModel = command(
  'projector',
  'rebuild_read_model',
  z.strictObject({ principal: Principal, name: ReadModelName }),
  ReadModelView,
);
/** gateway → projector, for an admin: what followers of any service gave up on. A replay is done by the follower itself, at its next look. */
export const ListParked = command('projector', 'list_parked', z.strictObject({}), z.array(ParkedView));
export const ReplayParked = command(
  'projector',
  'replay_parked',
  z.strictObject({ principal: Principal, follower: z.string().min(1).max(200), position: z.number().int().min(1) }),
  ParkedView,
);

/** gateway → delivery, for an admin: who is told of waiting approvals and of results. The secret is answered once, by `create` and by `rotate`. */
const webhook = { principal: Principal, webhook_id: z.uuid() };
export const CreateWebhook = command(
  'delivery',
  'create_webhook',
  z.strictObject({ principal: Principal, body: CreateWebhookBody }),
  WebhookWithSecret,
);
export const ListWebhooks = command('delivery', 'list_webhooks', z.strictObject({ org: OrgId }), z.array(WebhookView));
export const RemoveWebhook = command('delivery', 'remove_webhook', z.strictObject(webhook), z.strictObject({ removed: z.literal(true) }));
export const RotateWebhookSecret = command('delivery', 'rotate_webhook_secret', z.strictObject(webhook), WebhookWithSecret);
export const TestWebhook = command('delivery', 'test_webhook', z.strictObject(webhook), DeliveryView);
/** Newest first, at most 100. */
export const ListDeliveries = command(
  'delivery',
  'list_deliveries',
  z.strictObject({ org: OrgId, webhook_id: z.uuid(), state: DeliveryState.nullable() }),
  z.array(DeliveryView),
);
/** Sends a settled delivery again, with its id and its body, on the whole schedule. */
export const Redeliver = command('delivery', 'redeliver', z.strictObject({ ...webhook, delivery_id: z.uuid() }), DeliveryView);

export const commands = {
  RequestPermission,
  EvaluateEdit,
  CreateRun,
  CancelRun,
  EraseContent,
  LaunchRun,
  RunKeys,
  ReportEvent,
  Heartbeat,
  ReportResult,
  RenewLease,
  WorkspaceKey,
  FreezeRunSpec,
  CreateAgent,
  ReviseAgent,
  GetAgent,
  ListAgents,
  ImportPolicy,
  RevertPolicy,
  ClonePolicy,
  DeletePolicy,
  GetPolicy,
  ListPolicies,
  ListPolicyVersions,
  CheckPolicy,
  BacktestPolicy,
  ListPolicyProposals,
  GetPolicyProposal,
  DecidePolicyProposal,
  DecideApproval,
  SetBudget,
  ListBudgets,
  SetUpstream,
  ListUpstreams,
  RemoveUpstream,
  ListReadModels,
  RebuildReadModel,
  ListParked,
  ReplayParked,
  CreateWebhook,
  ListWebhooks,
  RemoveWebhook,
  RotateWebhookSecret,
  TestWebhook,
  ListDeliveries,
  Redeliver,
} as const;
export type Command = (typeof commands)[keyof typeof commands];
export type RequestOf<C extends Command> = z.input<C['request']>;
export type ParsedRequestOf<C extends Command> = z.output<C['request']>;
export type ReplyOf<C extends Command> = z.output<C['reply']>;
