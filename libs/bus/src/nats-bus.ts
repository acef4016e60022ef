import { setTimeout as delay } from 'node:timers/promises';
import {
  type Command,
  callMapEntries,
  commandTimeoutMs,
  type LogMessage,
  logSubject,
  logWildcard,
  Problem,
  type ReplyOf,
  type RequestOf,
  type StreamCategory,
  witnessSubject,
} from '@fluidbox/contracts';
import {
  headers,
  type Msg,
  type NatsConnection,
  type Subscription as NatsSubscription,
  NoRespondersError,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node';
import { answer, decodeReply, encodeRequest, type Handler } from './answer';
import type { Bus, RequestMeta, RequestOptions, Subscription } from './api';
import { metaOf } from './call-context';
import { type ConnectOptions, connectNats } from './connect';
import { encodeProblem } from './envelope';
import { InFlight } from './in-flight';
import { decodeLogMessage, encodeLogMessage } from './log-message';
import { headersOf, metaFrom } from './message-headers';
import { ensureStreams } from './streams';

/** Wake-ups kept while the server is away; beyond that the readers find what is missing in Postgres. */
const HELD_MESSAGES_MAX = 5_000;
const IN_FLIGHT_MAX = 256;
const noResponderPauseMs = 100;
const remakePauseMs = 250;

interface LogFollower {
  readonly wants: (message: LogMessage) => boolean;
  readonly receive: (message: LogMessage) => void;
}

export interface BusOptions extends ConnectOptions {
  /** Handlers that may run at the same time in this process; more requests are answered `overloaded`. */
  readonly inFlightMax?: number;
  /** What an operator should know and no caller hears of. */
  readonly onWarning?: (message: string, error?: unknown) => void;
}

/** Connects, checks the server and makes its streams. */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const connection = await connectNats(options);
  try {
    await ensureStreams(connection, callMapEntries[options.service]);
  } catch (cause) {
    await connection.close();
    throw new Error(`${options.service} cannot create the JetStream streams (is JetStream on?): ${(cause as Error).message}`, { cause });
  }
  return new NatsBus(connection, options);
}

class NatsBus implements Bus {
  private readonly inFlight: InFlight;
  private readonly warn: (message: string, error?: unknown) => void;
  private readonly reconnectListeners: (() => void)[] = [];
  private readonly held: (() => void)[] = [];
  private up = true;
  /** The streams may be gone with the server's disk: what they shall keep waits until they are there again. */
  private remaking = false;
  private connections = 0;
  private readonly followers = new Set<LogFollower>();

  constructor(
    private readonly connection: NatsConnection,
    private readonly options: BusOptions,
  ) {
    this.inFlight = new InFlight(options.inFlightMax ?? IN_FLIGHT_MAX);
    this.warn = options.onWarning ?? (() => undefined);
    void this.watch();
  }

  get connected(): boolean {
    return this.up && !this.connection.isClosed();
  }

  async request<C extends Command>(command: C, request: RequestOf<C>, options: RequestOptions = {}): Promise<ReplyOf<C>> {
    const payload = encodeRequest(command, request);
    const timeoutMs = options.timeoutMs ?? commandTimeoutMs;
    const deadline = performance.now() + timeoutMs;
    // The client would hold the request back and send it after the caller has given up.
    if (!this.connected && !(await this.comesBackWithin(timeoutMs))) throw unavailable(command, 'NATS is not connected');
    const message = await this.send(command, payload, metaOf(request, options.meta), deadline);
    return decodeReply(command, message.string());
  }

  /** Without a responder nothing was delivered, so asking again is safe: a service that restarts is waited for like a slow one. */
  private async send(command: Command, payload: string, meta: RequestMeta, deadline: number, wasAbsent = false): Promise<Msg> {
    const timeout = Math.max(1, Math.round(deadline - performance.now()));
    try {
      return await this.connection.request(command.subject, payload, { timeout, headers: headersOf(meta) });
    } catch (error) {
      if (isNoResponders(error)) {
        if (performance.now() + noResponderPauseMs >= deadline) throw unavailable(command, 'no process of that service runs', error);
        await delay(noResponderPauseMs);
        return this.send(command, payload, meta, deadline, true);
      }
      if (error instanceof TimeoutError)
        // What is left of the time may be too short for an answer of anybody.
        throw unavailable(command, wasAbsent ? 'no process of that service was there in time' : `no reply within ${timeout} ms`, error);
      if (this.connection.isClosed() || !this.up) throw unavailable(command, 'NATS is not connected', error);
      throw new Problem('internal', `${command.subject} could not be sent`, { cause: error });
    }
  }

  respond<C extends Command>(command: C, handler: Handler<C>): Subscription {
    const receive = (message: Msg): void => {
      const meta = metaFrom(message);
      const work = async () => {
        const reply = await answer(command, handler, message.string(), meta, (error) => this.warn(`${command.subject} failed`, error));
        this.reply(message, reply);
      };
      if (this.inFlight.tryStart(work)) return;
      this.reply(message, encodeProblem(new Problem('overloaded', `${command.service} has too many requests in flight; try again`)));
    };
    return this.listen(command.subject, receive, command.service);
  }

  private reply(message: Msg, text: string): void {
    try {
      message.respond(text);
    } catch (error) {
      // The connection is down or the reply too large; the requester times out and asks again.
      this.warn(`the reply to ${message.subject} was not sent`, error);
    }
  }

  publishLog(message: LogMessage): void {
    const id = headers();
    id.set('Nats-Msg-Id', `${message.stream}:${message.lastSeq}`);
    const subject = logSubject(message.category, message.org, message.id);
    this.publish(() => this.connection.publish(subject, encodeLogMessage(message), { headers: id }));
    // The server does not send us what came from us: writing, reading and parsing it again cost more than the append that it tells of.
    if (this.followers.size === 0) return;
    if (this.published.length === 0) setImmediate(() => this.hearPublished());
    this.published.push(message);
  }
  private published: LogMessage[] = [];

  private hearPublished(): void {
    const messages = this.published;
    this.published = [];
    for (const message of messages) for (const { wants, receive } of [...this.followers]) if (wants(message)) receive(message);
  }

  publishWitness(org: string, id: string, head: { seq: number; hash: string; jws: string }): void {
    this.publish(() => this.connection.publish(witnessSubject(org, id), JSON.stringify(head)));
  }

  private publish(send: () => void): void {
    if (!this.connected || this.remaking) {
      this.held.push(send);
      if (this.held.length > HELD_MESSAGES_MAX) this.held.shift();
      return;
    }
    try {
      send();
    } catch (error) {
      this.warn('a log message was not published', error);
    }
  }

  followLog(categories: readonly StreamCategory[], handler: (message: LogMessage) => void): Subscription {
    return this.follow(categories.map(logWildcard), ({ category }) => categories.includes(category), handler);
  }

  followStream(category: StreamCategory, org: string, id: string, handler: (message: LogMessage) => void): Subscription {
    const wants = (message: LogMessage): boolean => message.category === category && message.org === org && message.id === id;
    return this.follow([logSubject(category, org, id)], wants, handler);
  }

  /** What others publish comes from the server, what we publish from `publishLog`. */
  private follow(subjects: readonly string[], wants: LogFollower['wants'], handler: (message: LogMessage) => void): Subscription {
    const receive = (message: LogMessage): void => {
      try {
        handler(message);
      } catch (error) {
        this.warn(`handling a log message of ${message.stream} failed`, error);
      }
    };
    const follower: LogFollower = { wants, receive };
    this.followers.add(follower);
    const subscriptions = subjects.map((subject) =>
      this.listen(subject, (message) => {
        const decoded = decodeLogMessage(message.string());
        if (decoded === undefined) this.warn(`what came on ${message.subject} is no log message`);
        else receive(decoded);
      }),
    );
    return {
      drain: async () => {
        this.followers.delete(follower);
        await Promise.all(subscriptions.map((subscription) => subscription.drain()));
      },
    };
  }

  private listen(subject: string, receive: (message: Msg) => void, queue?: string): Subscription {
    const callback = (error: Error | null, message: Msg): void => {
      if (error === null) receive(message);
      else this.warn(`subscription ${subject} failed`, error);
    };
    const subscription: NatsSubscription = this.connection.subscribe(subject, queue === undefined ? { callback } : { callback, queue });
    return {
      drain: async () => {
        if (!subscription.isClosed() && this.connected) await subscription.drain();
        else subscription.unsubscribe();
        await this.inFlight.idle();
      },
    };
  }

  onReconnect(listener: () => void): void {
    this.reconnectListeners.push(listener);
  }

  flush(): Promise<void> {
    return this.connection.flush();
  }

  async close(): Promise<void> {
    await this.inFlight.idle();
    if (this.connected) await this.connection.drain();
    else await this.connection.close();
  }

  private async comesBackWithin(timeoutMs: number): Promise<boolean> {
    if (this.connection.isClosed()) return false;
    return new Promise((resolve) => {
      const settle = (answer: boolean) => {
        clearTimeout(timer);
        this.waiting.delete(back);
        resolve(answer);
      };
      const back = () => settle(true);
      const timer = setTimeout(() => settle(false), timeoutMs);
      this.waiting.add(back);
    });
  }
  private readonly waiting = new Set<() => void>();

  private async watch(): Promise<void> {
    for await (const status of this.connection.status()) {
      if (status.type === 'disconnect') {
        this.up = false;
        this.warn(`NATS connection of ${this.options.service} lost`);
      } else if (status.type === 'reconnect') void this.comeBack();
      else if (status.type === 'error') this.warn('NATS reported an error', status.error);
      else if (status.type === 'slowConsumer') this.warn('a subscription falls behind');
    }
    this.up = false;
  }

  private async remakeStreams(): Promise<boolean> {
    try {
      await ensureStreams(this.connection, callMapEntries[this.options.service]);
      return true;
    } catch (error) {
      this.warn('the streams of the log and the witness cannot be made; it is tried again', error);
      return false;
    }
  }

  private async comeBack(): Promise<void> {
    this.up = true;
    this.connections += 1;
    const connection = this.connections;
    for (const back of [...this.waiting]) back();
    this.remaking = callMapEntries[this.options.service].republishes === true;
    while (this.remaking && !(await this.remakeStreams())) {
      await delay(remakePauseMs);
      // Lost again meanwhile: the next connection does it.
      if (connection !== this.connections || !this.connected) return;
    }
    if (connection !== this.connections) return;
    this.remaking = false;
    for (const send of this.held.splice(0)) this.publish(send);
    for (const listener of this.reconnectListeners) {
      try {
        listener();
      } catch (error) {
        this.warn('a reconnect listener failed', error);
      }
    }
  }
}

const unavailable = (command: Command, why: string, cause?: unknown): Problem =>
  new Problem('unavailable', `${command.service} does not answer ${command.name}: ${why}`, { cause });

const isNoResponders = (error: unknown): boolean =>
  error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders());
