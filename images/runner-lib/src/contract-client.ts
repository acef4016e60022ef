import { setTimeout as pause } from 'node:timers/promises';
import {
  EventsAnswer,
  HeartbeatAnswer,
  type PermissionAnswer,
  type PermissionRequest,
  RenewAnswer,
  type ReportedEvent,
  type ResultRequest,
  ToolsCallAnswer,
} from '@fluidbox/contracts';
import { readPermissionReply } from './permission-answer';
import { resolvedPaths } from './resolved-paths';
import { type Attempt, callBackoffMs, judge, permissionBackoffMs } from './retry-policy';
import type { RunnerTokens } from './runner-input';
import { type Endpoint, postJson, type Reply } from './transport';

export interface ContractClientOptions {
  readonly control: Endpoint;
  readonly sessionId: string;
  readonly tokens: Pick<RunnerTokens, 'tool' | 'control'>;
  /** Where the paths of calls are followed through symlinks; without it the gate sees them as written only. */
  readonly workspace?: string;
  /** Called once, before the call that met it rejects. Must end the process loudly. */
  readonly onWrongAudience: (path: string) => Promise<void>;
  readonly log: (message: string) => void;
}

interface CallOptions {
  readonly audience: 'tool' | 'control';
  readonly attemptsMax: number;
  readonly idleTimeoutMs?: number;
  readonly backoffMs?: (failures: number) => number;
  readonly signal?: AbortSignal | undefined;
}

/** The last attempt failed, or the control plane refused for good (`reply`). */
export class ContractCallFailed extends Error {
  override readonly name = 'ContractCallFailed';
  constructor(
    readonly path: string,
    readonly reply: Reply | undefined,
    reason: string,
  ) {
    super(`${path}: ${reason}`);
  }
}

const requestTimeoutMs = 30_000;
/** The gate pads every 15 s while a human thinks; three missed paddings mean that nobody is there any more. */
const permissionIdleTimeoutMs = 60_000;
const eventAttempts = 4;
const brokeredAttempts = 3;

/** The runner's half of the HTTP contract. Routes each call to the token of its audience, retries by table, never guesses an allow. */
export class ContractClient {
  readonly #options: ContractClientOptions;
  readonly #base: string;
  #aborting: Promise<void> | undefined;

  constructor(options: ContractClientOptions) {
    this.#options = options;
    this.#base = `/internal/sessions/${encodeURIComponent(options.sessionId)}`;
  }

  /** Blocks while a human decides. Retried for ever under the same id, which makes a retry re-attach; only `signal` ends it. */
  async permission(call: PermissionRequest, signal?: AbortSignal): Promise<PermissionAnswer> {
    const request = await this.#withResolvedPaths(call);
    for (let failures = 0; ; ) {
      const reply = await this.#call(`${this.#base}/permission`, request, {
        audience: 'tool',
        attemptsMax: Number.POSITIVE_INFINITY,
        idleTimeoutMs: permissionIdleTimeoutMs,
        backoffMs: permissionBackoffMs,
        signal,
      });
      const reading = readPermissionReply(reply);
      if (reading !== 'retry') return reading;
      failures += 1;
      await pause(permissionBackoffMs(failures), undefined, { signal });
    }
  }

  async #withResolvedPaths(call: PermissionRequest): Promise<PermissionRequest> {
    const { workspace } = this.#options;
    const resolved = workspace === undefined ? undefined : await resolvedPaths(call, workspace);
    return resolved === undefined ? call : { ...call, resolved_paths: resolved };
  }

  /** A brokered tool: the control plane runs the same gate and then the tool. The id is the model's own call id. */
  async callTool(request: PermissionRequest, signal?: AbortSignal): Promise<ToolsCallAnswer> {
    const reply = await this.#call(`${this.#base}/tools/call`, request, {
      audience: 'tool',
      attemptsMax: brokeredAttempts,
      idleTimeoutMs: permissionIdleTimeoutMs,
      signal,
    });
    if (reply.status !== 200) return { ok: false, error: `the broker refused with status ${reply.status}` };
    return ToolsCallAnswer.parse(JSON.parse(reply.body));
  }

  /** Rejects with ContractCallFailed when it could not be stored; a timeline entry is never worth stopping the agent for. */
  async report(body: ReportedEvent, actor = 'runner'): Promise<void> {
    const reply = await this.#call(`${this.#base}/events`, { actor, body }, { audience: 'control', attemptsMax: eventAttempts });
    if (reply.status !== 200)
      throw new ContractCallFailed(`${this.#base}/events`, reply, `refused with status ${reply.status}: ${reply.body.slice(0, 300)}`);
    EventsAnswer.parse(JSON.parse(reply.body));
  }

  /** `gone` = this run, or this instance of it, is no longer wanted. */
  async heartbeat(signal?: AbortSignal): Promise<'go_on' | 'quiesce' | 'gone'> {
    const reply = await this.#call(`${this.#base}/heartbeat`, {}, { audience: 'control', attemptsMax: 2, signal });
    if ([401, 403, 404, 409].includes(reply.status)) return 'gone';
    if (reply.status !== 200) throw new ContractCallFailed(`${this.#base}/heartbeat`, reply, `status ${reply.status}`);
    return HeartbeatAnswer.parse(JSON.parse(reply.body)).action ?? 'go_on';
  }

  /** Extends the lease of all tokens; returns the seconds granted, or null when there is nothing left to renew. */
  async renew(ttlSecs: number, signal?: AbortSignal): Promise<number | null> {
    const reply = await this.#call('/internal/token/renew', { ttl_secs: ttlSecs }, { audience: 'control', attemptsMax: 1, signal });
    if ([400, 401, 403, 404, 409].includes(reply.status)) return null;
    if (reply.status !== 200) throw new ContractCallFailed('/internal/token/renew', reply, `status ${reply.status}`);
    const answer = RenewAnswer.parse(JSON.parse(reply.body));
    return answer.renewed ? answer.ttl_secs : null;
  }

  /** Returns when the result is durable. Retried for ever on anything transient: an unreported run would look like a dead one. */
  async result(body: ResultRequest, signal?: AbortSignal): Promise<void> {
    const path = `${this.#base}/result`;
    const reply = await this.#call(path, body, { audience: 'control', attemptsMax: Number.POSITIVE_INFINITY, signal });
    if (reply.status !== 200) throw new ContractCallFailed(path, reply, `refused with status ${reply.status}: ${reply.body.slice(0, 300)}`);
  }

  /** A single raw attempt, for the last words of a runner that is ending. */
  async reportOnce(body: ReportedEvent, timeoutMs: number): Promise<void> {
    const { control, tokens } = this.#options;
    await postJson(control, `${this.#base}/events`, {
      token: tokens.control,
      body: { actor: 'runner', body },
      idleTimeoutMs: timeoutMs,
      signal: AbortSignal.timeout(timeoutMs),
    });
  }

  /** One attempt with the token of a chosen audience and no reading of the answer: for the self-test of the door. */
  probe(path: 'events' | 'heartbeat', audience: 'tool' | 'control', timeoutMs: number): Promise<Reply> {
    const { control, tokens } = this.#options;
    return postJson(control, `${this.#base}/${path}`, { token: tokens[audience], body: {}, idleTimeoutMs: timeoutMs });
  }

  async #call(path: string, body: unknown, options: CallOptions): Promise<Reply> {
    const { control, tokens, log } = this.#options;
    const backoffMs = options.backoffMs ?? callBackoffMs;
    for (let failures = 0; ; ) {
      const attempt: Attempt = await postJson(control, path, {
        token: tokens[options.audience],
        body,
        idleTimeoutMs: options.idleTimeoutMs ?? requestTimeoutMs,
        signal: options.signal,
      }).then(
        (reply): Attempt => ({ kind: 'answered', reply }),
        (error: Error): Attempt => ({ kind: 'failed', reason: error.message }),
      );
      options.signal?.throwIfAborted();
      const judgement = judge(attempt);
      if (judgement === 'wrong_audience') {
        this.#aborting ??= this.#options.onWrongAudience(path);
        await this.#aborting;
        throw new ContractCallFailed(path, undefined, 'wrong_audience');
      }
      if (judgement === 'final' && attempt.kind === 'answered') return attempt.reply;
      failures += 1;
      const reason = attempt.kind === 'failed' ? attempt.reason : `status ${attempt.reply.status}`;
      if (failures >= options.attemptsMax)
        throw new ContractCallFailed(path, attempt.kind === 'answered' ? attempt.reply : undefined, reason);
      log(`${path}: ${reason}, asking again`);
      await pause(backoffMs(failures), undefined, { signal: options.signal });
    }
  }
}
