import type {
  AgentView,
  ApprovalView,
  ArtifactView,
  BacktestBody,
  BacktestView,
  BudgetView,
  ClonePolicyBody,
  CostDimension,
  CostGroup,
  CreateAgentBody,
  CreateSessionBody,
  CreateWebhookBody,
  DecideApprovalBody,
  DecideProposalBody,
  DeliveryState,
  DeliveryView,
  EventView,
  GateDimension,
  GateGroup,
  Page,
  ParkedView,
  PolicyCheck,
  PolicyDocument,
  PolicyProposalView,
  PolicyView,
  PublishedPolicy,
  ReadModelView,
  RevertPolicyBody,
  ReviseAgentBody,
  Role,
  RunSpec,
  SessionView,
  SetBudgetBody,
  SetUpstreamBody,
  Summary,
  TokenView,
  UpstreamDialect,
  UpstreamView,
  WebhookView,
  WebhookWithSecret,
} from '@fluidbox/contracts';
import type { z } from 'zod';
import { exitCodes } from '../exit-codes';
import { CommandFailure } from '../failure';
import { readServerSentEvents } from './sse';

/** Tries of a stream that never answered; one that did is worth waiting for, the stack may be starting again. */
const firstTriesMax = 3;
const triesMax = 60;

/** What the server refused, with its problem code; the command line turns it into an exit code. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
    this.name = 'ApiError';
  }
}

const searchOf = (query: Readonly<Record<string, string | number | undefined>>): URLSearchParams =>
  new URLSearchParams(
    Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)] as [string, string]])),
  );

const policyPath = (...parts: string[]): string => `/v1/policies/${parts.map(encodeURIComponent).join('/')}`;

/** The stream ended before the run did: its token is not good any more, or it may not see the run. */
function endOf(data: string): ApiError {
  const { code, detail } = JSON.parse(data) as { code: string; detail: string };
  return new ApiError(code === 'unauthorized' ? 401 : 403, code, detail);
}

/** Nothing answers at the address, or the connection broke. */
export class Unreachable extends CommandFailure {
  constructor(url: string, cause: unknown) {
    super(
      `${url} does not answer: ${reasonOf(cause)}; is the stack up (npm run up), and is FLUIDBOX_API_URL right?`,
      exitCodes.unavailable,
    );
    this.cause = cause;
  }
}

/** What fetch hides: its own message is `fetch failed`, the reason stands in the cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error.cause instanceof Error)) return error.message;
  const { code } = error.cause as { code?: unknown };
  return typeof code === 'string' ? code : error.cause.message;
}

export interface ApiOptions {
  readonly url: string;
  readonly token: string;
}

/** The public API as the command line uses it. Throws ApiError for refusals and Unreachable when nothing answers. */
export class ApiClient {
  constructor(private readonly options: ApiOptions) {}

  createSession(
    body: Partial<CreateSessionBody> & { agent: string; task: string },
    idempotencyKey?: string,
  ): Promise<{ session: SessionView; replayed: boolean }> {
    return this.json('POST', '/v1/sessions', body, idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey });
  }
  async session(id: string): Promise<SessionView> {
    return (await this.json<{ session: SessionView }>('GET', `/v1/sessions/${encodeURIComponent(id)}`)).session;
  }
  /** What governs the run; its policy stands inside in full. */
  spec(id: string): Promise<RunSpec & { policy: { document: PolicyDocument } }> {
    return this.json('GET', `/v1/sessions/${encodeURIComponent(id)}/spec`);
  }
  sessions(query: { limit: number; cursor?: string; status?: string }): Promise<Page<SessionView>> {
    return this.json('GET', `/v1/sessions?${searchOf(query)}`);
  }
  cancel(id: string): Promise<{ cancelled: boolean }> {
    return this.json('POST', `/v1/sessions/${encodeURIComponent(id)}/cancel`, {});
  }
  async allEvents(id: string): Promise<EventView[]> {
    const events: EventView[] = [];
    for (;;) {
      const after = events.at(-1)?.seq ?? 0;
      const page = await this.json<{ data: EventView[]; has_more: boolean }>(
        'GET',
        `/v1/sessions/${encodeURIComponent(id)}/events?after=${after}`,
      );
      events.push(...page.data);
      if (!page.has_more) return events;
    }
  }
  approvals(): Promise<Page<ApprovalView>> {
    return this.json('GET', '/v1/approvals');
  }
  approval(id: string): Promise<ApprovalView> {
    return this.json('GET', `/v1/approvals/${encodeURIComponent(id)}`);
  }
  decide(
    approvalId: string,
    body: DecideApprovalBody,
  ): Promise<{ decision: string; votes: number; needed: number; approval: ApprovalView }> {
    return this.json('POST', `/v1/approvals/${encodeURIComponent(approvalId)}/decision`, body);
  }
  artifacts(id: string): Promise<{ data: ArtifactView[] }> {
    return this.json('GET', `/v1/sessions/${encodeURIComponent(id)}/artifacts`);
  }
  async artifact(id: string, artifactId: string): Promise<Buffer> {
    const response = await this.request('GET', `/v1/sessions/${encodeURIComponent(id)}/artifacts/${encodeURIComponent(artifactId)}`);
    return Buffer.from(await response.arrayBuffer());
  }
  async bundle(id: string): Promise<Buffer> {
    const response = await this.request('GET', `/v1/sessions/${encodeURIComponent(id)}/bundle`);
    return Buffer.from(await response.arrayBuffer());
  }
  erase(id: string): Promise<{ erased_at: string; erased_by: string }> {
    return this.json('POST', `/v1/sessions/${encodeURIComponent(id)}/erase`, {});
  }
  agents(): Promise<Page<AgentView>> {
    return this.json('GET', '/v1/agents');
  }
  createAgent(body: Partial<CreateAgentBody> & { name: string }): Promise<AgentView> {
    return this.json('POST', '/v1/agents', body);
  }
  reviseAgent(name: string, body: ReviseAgentBody): Promise<AgentView> {
    return this.json('POST', `/v1/agents/${encodeURIComponent(name)}/revisions`, body);
  }
  policies(): Promise<Page<Omit<PolicyView, 'source'>>> {
    return this.json('GET', '/v1/policies');
  }
  policy(name: string, version?: number): Promise<PolicyView> {
    return this.json('GET', `/v1/policies/${encodeURIComponent(name)}${version === undefined ? '' : `?version=${version}`}`);
  }
  publishPolicy(name: string, body: { source: string; summary?: string; base_version?: number }): Promise<PublishedPolicy> {
    return this.json('PUT', policyPath(name), body);
  }
  /** For callers who need the version to govern: a proposal is an error. */
  async importPolicy(name: string, body: { source: string; summary?: string; base_version?: number }): Promise<PolicyView> {
    const published = await this.publishPolicy(name, body);
    if ('proposal' in published)
      throw new ApiError(409, 'conflict', `policy ${name} waits for a second person: proposal ${published.proposal.id}`);
    return published;
  }
  policyVersions(name: string): Promise<{ data: Omit<PolicyView, 'source'>[] }> {
    return this.json('GET', policyPath(name, 'versions'));
  }
  revertPolicy(name: string, body: RevertPolicyBody): Promise<PublishedPolicy> {
    return this.json('POST', policyPath(name, 'revert'), body);
  }
  clonePolicy(name: string, body: ClonePolicyBody): Promise<PublishedPolicy> {
    return this.json('POST', policyPath(name, 'clone'), body);
  }
  deletePolicy(name: string): Promise<{ name: string; last_version: number }> {
    return this.json('DELETE', policyPath(name));
  }
  checkPolicy(source: string): Promise<PolicyCheck> {
    return this.json('POST', '/v1/policies/validate', { source });
  }
  backtestPolicy(name: string, body: z.input<typeof BacktestBody>): Promise<BacktestView> {
    return this.json('POST', policyPath(name, 'backtest'), body);
  }
  policyProposals(query: { policy?: string; closed?: string }): Promise<{ data: Omit<PolicyProposalView, 'source'>[] }> {
    return this.json('GET', `/v1/policy-proposals?${searchOf(query)}`);
  }
  policyProposal(name: string, id: string): Promise<PolicyProposalView> {
    return this.json('GET', policyPath(name, 'proposals', id));
  }
  decideProposal(name: string, id: string, body: DecideProposalBody): Promise<PolicyProposalView> {
    return this.json('POST', policyPath(name, 'proposals', id, 'decision'), body);
  }
  createToken(body: {
    name: string;
    role: Role;
    ttl_days?: number;
  }): Promise<{ name: string; role: Role; token: string; expires_at: string }> {
    return this.json('POST', '/v1/tokens', body);
  }
  tokens(): Promise<{ data: TokenView[] }> {
    return this.json('GET', '/v1/tokens');
  }
  async revokeToken(name: string): Promise<void> {
    await this.request('DELETE', `/v1/tokens/${encodeURIComponent(name)}`);
  }

  budgets(): Promise<{ data: BudgetView[] }> {
    return this.json('GET', '/v1/budgets');
  }
  setBudget(scope: string, body: SetBudgetBody): Promise<BudgetView> {
    return this.json('PUT', `/v1/budgets/${encodeURIComponent(scope)}`, body);
  }

  upstreams(dialect: UpstreamDialect): Promise<{ data: UpstreamView[] }> {
    return this.json('GET', `/v1/upstreams/${dialect}`);
  }
  setUpstream(dialect: UpstreamDialect, name: string, body: SetUpstreamBody): Promise<{ data: UpstreamView[] }> {
    return this.json('PUT', `/v1/upstreams/${dialect}/${encodeURIComponent(name)}`, body);
  }
  async removeUpstream(dialect: UpstreamDialect, name: string): Promise<void> {
    await this.request('DELETE', `/v1/upstreams/${dialect}/${encodeURIComponent(name)}`);
  }

  createWebhook(body: CreateWebhookBody): Promise<WebhookWithSecret> {
    return this.json('POST', '/v1/webhooks', body);
  }
  webhooks(): Promise<{ data: WebhookView[] }> {
    return this.json('GET', '/v1/webhooks');
  }
  async removeWebhook(id: string): Promise<void> {
    await this.request('DELETE', `/v1/webhooks/${encodeURIComponent(id)}`);
  }
  rotateWebhook(id: string): Promise<WebhookWithSecret> {
    return this.json('POST', `/v1/webhooks/${encodeURIComponent(id)}/rotate`, {});
  }
  testWebhook(id: string): Promise<DeliveryView> {
    return this.json('POST', `/v1/webhooks/${encodeURIComponent(id)}/test`, {});
  }
  deliveries(id: string, state?: DeliveryState): Promise<{ data: DeliveryView[] }> {
    return this.json('GET', `/v1/webhooks/${encodeURIComponent(id)}/deliveries?${searchOf({ state })}`);
  }
  redeliver(id: string, delivery: string): Promise<DeliveryView> {
    return this.json('POST', `/v1/webhooks/${encodeURIComponent(id)}/deliveries/${encodeURIComponent(delivery)}/redeliver`, {});
  }

  costs(query: { by: CostDimension; from?: string; to?: string }): Promise<Summary<CostDimension, CostGroup>> {
    return this.json('GET', `/v1/costs?${searchOf(query)}`);
  }
  decisions(query: { by: GateDimension; from?: string; to?: string }): Promise<Summary<GateDimension, GateGroup>> {
    return this.json('GET', `/v1/stats/gate?${searchOf(query)}`);
  }
  readModels(): Promise<{ data: ReadModelView[] }> {
    return this.json('GET', '/v1/read-models');
  }
  rebuild(name: string): Promise<ReadModelView> {
    return this.json('POST', `/v1/read-models/${encodeURIComponent(name)}/rebuild`, {});
  }
  parked(): Promise<{ data: ParkedView[] }> {
    return this.json('GET', '/v1/parked');
  }
  replay(follower: string, position: number): Promise<ParkedView> {
    return this.json('POST', `/v1/parked/${encodeURIComponent(follower)}/${position}/replay`, {});
  }

  /** Events as they are committed, resumed by id for as long as it takes, until the run's terminal event. */
  async *watch(id: string, after = 0): AsyncGenerator<EventView> {
    let cursor = after;
    let answered = false;
    for (let failures = 0; ; ) {
      try {
        const response = await this.request('GET', `/v1/sessions/${encodeURIComponent(id)}/events/stream`, undefined, {
          accept: 'text/event-stream',
          'last-event-id': String(cursor),
        });
        // The run has ended, and there is nothing after the cursor.
        if (response.status === 204) return;
        if (response.body === null) throw new Error('the stream has no body');
        failures = 0;
        answered = true;
        for await (const { event: kind, data } of readServerSentEvents(response.body)) {
          if (kind === 'end') throw endOf(data);
          const event = JSON.parse(data) as EventView;
          cursor = event.seq;
          yield event;
          if (event.type === 'run.result') return;
        }
      } catch (error) {
        if (error instanceof ApiError && error.status < 500) throw error;
        failures += 1;
        if (failures >= (answered ? triesMax : firstTriesMax))
          throw error instanceof TypeError ? new Unreachable(this.options.url, error) : error;
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(250 * 2 ** failures, 5_000)));
    }
  }

  private async json<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    return (await (await this.request(method, path, body, headers)).json()) as T;
  }

  private async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const response = await this.fetch(path, {
      method,
      headers: {
        authorization: `Bearer ${this.options.token}`,
        'x-fluidbox-client': 'cli',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string };
    throw new ApiError(response.status, problem.code ?? 'http_error', problem.detail ?? `HTTP ${response.status}`);
  }

  private async fetch(path: string, init: RequestInit): Promise<Response> {
    const url = new URL(path, this.options.url);
    try {
      return await fetch(url, init);
    } catch (cause) {
      throw new Unreachable(this.options.url, cause);
    }
  }
}
