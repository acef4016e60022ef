import type {
  AgentView,
  ApprovalView,
  ArtifactView,
  CreateAgentBody,
  CreateSessionBody,
  DecideApprovalBody,
  EventView,
  Page,
  PolicyView,
  Role,
  SessionView,
} from '@fluidbox/contracts';
import { readServerSentEvents } from './sse';

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

export interface ApiOptions {
  readonly url: string;
  readonly token: string;
}

/** The public API as the command line uses it. Throws ApiError for refusals and the fetch error when nothing answers. */
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
  sessions(query: { limit: number; cursor?: string; status?: string }): Promise<Page<SessionView>> {
    const text = new URLSearchParams(
      Object.entries(query).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)] as [string, string]])),
    );
    return this.json('GET', `/v1/sessions?${text}`);
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
  agents(): Promise<Page<AgentView>> {
    return this.json('GET', '/v1/agents');
  }
  createAgent(body: Partial<CreateAgentBody> & { name: string }): Promise<AgentView> {
    return this.json('POST', '/v1/agents', body);
  }
  policies(): Promise<Page<Omit<PolicyView, 'source'>>> {
    return this.json('GET', '/v1/policies');
  }
  policy(name: string, version?: number): Promise<PolicyView> {
    return this.json('GET', `/v1/policies/${encodeURIComponent(name)}${version === undefined ? '' : `?version=${version}`}`);
  }
  importPolicy(name: string, body: { source: string; summary?: string; base_version?: number }): Promise<PolicyView> {
    return this.json('PUT', `/v1/policies/${encodeURIComponent(name)}`, body);
  }
  createToken(body: {
    name: string;
    role: Role;
    ttl_days?: number;
  }): Promise<{ name: string; role: Role; token: string; expires_at: string }> {
    return this.json('POST', '/v1/tokens', body);
  }
  tokens(): Promise<{ data: { name: string; role: Role; created_at: string; expires_at: string; last_used_at: string | null }[] }> {
    return this.json('GET', '/v1/tokens');
  }
  async revokeToken(name: string): Promise<void> {
    await this.request('DELETE', `/v1/tokens/${encodeURIComponent(name)}`);
  }

  /** Events as they are committed, resumed by id for as long as it takes, until the run's terminal event. */
  async *watch(id: string, after = 0): AsyncGenerator<EventView> {
    let cursor = after;
    for (let failures = 0; ; ) {
      try {
        const response = await this.request('GET', `/v1/sessions/${encodeURIComponent(id)}/events/stream`, undefined, {
          accept: 'text/event-stream',
          'last-event-id': String(cursor),
        });
        if (response.body === null) throw new Error('the stream has no body');
        failures = 0;
        for await (const data of readServerSentEvents(response.body)) {
          const event = JSON.parse(data) as EventView;
          cursor = event.seq;
          yield event;
          if (event.type === 'run.result') return;
        }
      } catch (error) {
        if (error instanceof ApiError && error.status < 500) throw error;
        failures += 1;
        if (failures > 60) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(250 * 2 ** failures, 5_000)));
    }
  }

  private async json<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    return (await (await this.request(method, path, body, headers)).json()) as T;
  }

  private async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(new URL(path, this.options.url), {
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
}
