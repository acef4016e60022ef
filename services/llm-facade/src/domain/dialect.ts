import type { ToolResult } from './coverage';
import type { Refusal } from './refusal';
import type { Usage } from './usage';

/**
 * What differs between the providers' wires. One file per dialect implements this; nothing else knows a field of a model request. All of it is
 * pure: bytes and values in, values out.
 */
export interface Dialect {
  readonly id: DialectId;
  readonly provider: Provider;
  /** Path below `/internal/llm` → what it asks for. Anything else is a 404: a suffix that is only passed on would reach any upstream path. */
  readonly paths: Readonly<Record<string, RequestKind>>;
  /** Judges a parsed body and gives back what the upstream will see. */
  screen(
    body: unknown,
    kind: RequestKind,
    rules: ScreenRules,
  ): { readonly ok: true; readonly request: ScreenedRequest } | { readonly ok: false; readonly refusal: Refusal };
  /** A screened body that asks for no more than this much output. */
  withOutputMax(body: Buffer, outputTokens: number): Buffer;
  /** Headers of the request that the provider may see. The credential is not among them. */
  forwardedHeaders(incoming: Readonly<Record<string, string | undefined>>): Record<string, string>;
  /** The sub-agent that asked, as the harness names it; null for the main one. */
  agentIdOf(incoming: Readonly<Record<string, string | undefined>>): string | null;
  errorBody(refusal: Refusal): string;
  streamMeter(request: ScreenedRequest, options: { readonly stopsAtBreach: boolean }): StreamMeter;
  /** Reads an answer that was not streamed; null when it is not one. */
  readAnswer(body: unknown, request: ScreenedRequest): Answer | null;
}

export type DialectId = 'anthropic_messages' | 'openai_responses';

/** Whose wire it is: how this deployment identifies itself there, and what of the answer's headers a runner may see. */
export interface Provider {
  /** The setting that names the file with the key. */
  readonly keyVariable: string;
  credentialHeaders(key: string): Record<string, string>;
  /** By lower-case name, beside those that every dialect keeps. */
  keepsHeader(name: string): boolean;
}

export type RequestKind = 'generate' | 'count_tokens';

export interface ScreenRules {
  readonly model: string;
  /** True when a tool of this name (the harness's own spelling) may be offered to the model. */
  readonly offers: (toolName: string) => boolean;
}

export interface ScreenedRequest {
  /** Parsed, screened and written anew: what was checked is what is sent, duplicate members included. */
  readonly body: Buffer;
  readonly stream: boolean;
  readonly outputTokensMax: number;
  /** What it writes to a cache may be kept, and priced, for an hour. */
  readonly cachesForAnHour: boolean;
  /** Tools the harness wanted to offer and may not: a call to one of them must not reach it. */
  readonly droppedTools: ReadonlySet<string>;
  readonly toolResults: readonly ToolResult[];
}

/** A call as the model emitted it, under the harness's own tool name. `input` is null when its arguments were not JSON. */
export interface ModelCall {
  readonly toolCallId: string;
  readonly tool: string;
  readonly input: unknown;
  readonly rawInput: string;
  /** Called with text and not with arguments. */
  readonly isText?: true;
}

/** Why an answer must not reach the runner. */
export interface Breach {
  readonly kind: 'dropped_tool' | 'provider_executed' | 'unreadable';
  readonly toolCallId: string;
  readonly tool: string;
}

export interface Answer {
  readonly usage: Usage;
  readonly stopReason: string | null;
  readonly calls: readonly ModelCall[];
  readonly breach: Breach | null;
}

/** Reads a stream while its bytes pass. */
export interface StreamMeter {
  push(chunk: Buffer): MeterSign;
  /** What was read so far. `final`: the provider's own usage is complete. */
  result(): Answer & { readonly final: boolean };
}
/** `finishedAt`: where in this chunk the last event begins; from there on the bytes wait for the ledger. `stop`: this chunk must not leave. */
export type MeterSign = { readonly kind: 'more' } | { readonly kind: 'finished'; readonly finishedAt: number } | { readonly kind: 'stop' };

/** What a request is for: its dialect, its kind, and its path below the provider's base URL. */
export interface ModelRoute {
  readonly dialect: Dialect;
  readonly kind: RequestKind;
  readonly path: string;
}
