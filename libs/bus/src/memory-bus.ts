import { setImmediate as nextTick } from 'node:timers/promises';
import { type Command, type LogMessage, Problem, type ReplyOf, type RequestOf, type StreamCategory } from '@fluidbox/contracts';
import { answer, decodeReply, encodeRequest, type Handler } from './answer';
import type { Bus, RequestMeta, RequestOptions, Subscription } from './api';
import { metaOf } from './call-context';
import { decodeLogMessage, encodeLogMessage } from './log-message';

type Responder = (text: string, meta: RequestMeta) => Promise<string>;

/** What a NATS server is to processes, inside one process: for unit tests of services. Bytes are encoded and parsed as on the wire. */
export class MemoryHub {
  private readonly responders = new Map<string, Responder>();
  private readonly followers = new Set<(message: LogMessage) => void>();
  private readonly reconnectListeners: (() => void)[] = [];
  /** What was published, in order. */
  readonly published: LogMessage[] = [];
  readonly witnessed: { org: string; id: string; seq: number; hash: string; jws: string }[] = [];
  connected = true;

  /** Everybody's `onReconnect`: as after a restart of the server. */
  reconnect(): void {
    this.connected = true;
    for (const listener of this.reconnectListeners) listener();
  }

  bus(): Bus {
    const hub = this;
    return {
      async request<C extends Command>(command: C, request: RequestOf<C>, options: RequestOptions = {}): Promise<ReplyOf<C>> {
        const payload = encodeRequest(command, request);
        const responder = hub.responders.get(command.subject);
        await nextTick();
        if (responder === undefined || !hub.connected)
          throw new Problem('unavailable', `${command.service} does not answer ${command.name}`);
        return decodeReply(command, await responder(payload, metaOf(request, options.meta)));
      },
      respond<C extends Command>(command: C, handler: Handler<C>): Subscription {
        hub.responders.set(command.subject, (text, meta) => answer(command, handler, text, meta, () => undefined));
        return { drain: async () => void hub.responders.delete(command.subject) };
      },
      publishLog: (message) => hub.publish(message),
      publishWitness: (org, id, head) => void hub.witnessed.push({ org, id, ...head }),
      followLog: (categories, handler) => hub.follow((message) => categories.includes(message.category), handler),
      followStream: (category: StreamCategory, org, id, handler) =>
        hub.follow((message) => message.category === category && message.org === org && message.id === id, handler),
      onReconnect: (listener) => void hub.reconnectListeners.push(listener),
      get connected() {
        return hub.connected;
      },
      flush: async () => undefined,
      close: async () => undefined,
    };
  }

  publish(message: LogMessage): void {
    const decoded = decodeLogMessage(encodeLogMessage(message));
    if (decoded === undefined) throw new Error('the log message does not fit its schema');
    this.published.push(decoded);
    for (const follower of [...this.followers]) follower(decoded);
  }

  private follow(wanted: (message: LogMessage) => boolean, handler: (message: LogMessage) => void): Subscription {
    const follower = (message: LogMessage): void => {
      if (wanted(message)) handler(message);
    };
    this.followers.add(follower);
    return { drain: async () => void this.followers.delete(follower) };
  }
}
