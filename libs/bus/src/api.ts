import type { Command, LogMessage, ParsedRequestOf, ReplyOf, RequestOf, StreamCategory } from '@fluidbox/contracts';

export interface RequestMeta {
  readonly org: string | null;
  readonly principal: string | null;
  readonly traceparent: string | null;
}
export interface RequestOptions {
  /** Default 5 s. */
  readonly timeoutMs?: number;
  readonly meta?: Partial<RequestMeta>;
}
export interface Subscription {
  /** Stops taking new messages and waits for the handlers that run. */
  drain(): Promise<void>;
}

/** NATS as the services see it. Request and reply are parsed on both sides; a thrown Problem crosses the wire as itself. */
export interface Bus {
  /** Rejects with Problem `unavailable` on no responder or timeout. */
  request<C extends Command>(command: C, request: RequestOf<C>, options?: RequestOptions): Promise<ReplyOf<C>>;
  respond<C extends Command>(command: C, handler: (request: ParsedRequestOf<C>, meta: RequestMeta) => Promise<ReplyOf<C>>): Subscription;
  /** `fb.log.<category>.<org>.<id>` with Nats-Msg-Id = `<stream>:<lastSeq>`; never throws: the ledger is the truth, the log a wake-up. */
  publishLog(message: LogMessage): void;
  publishWitness(org: string, id: string, head: { seq: number; hash: string; jws: string }): void;
  /** Live log messages of these categories, every process its own copy. Use `onReconnect` to read what was missed from Postgres. */
  followLog(categories: readonly StreamCategory[], handler: (message: LogMessage) => void): Subscription;
  /** Live messages of one run only (watchers, parked permission calls). */
  followStream(category: StreamCategory, org: string, id: string, handler: (message: LogMessage) => void): Subscription;
  onReconnect(listener: () => void): void;
  readonly connected: boolean;
  /** Resolves when the server knows every subscription made so far. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
