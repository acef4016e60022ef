import { type EventView, type LogMessage, type Principal, Problem, runStream, streamNameOf } from '@fluidbox/contracts';
import { maySeeRun } from '../domain/authority';
import { beatFrame, endFrame } from '../domain/event-batch';
import type { Authenticate } from './authenticate';
import { RunChannel, type Sink, type Watcher } from './run-channel';

export interface HubPorts {
  readonly readEvents: (
    org: string,
    runId: string,
    options: { after: number; limit: number; bytesMax: number },
  ) => Promise<readonly EventView[]>;
  /** The newest seq of each stream that exists. */
  readonly heads: (org: string, streams: readonly string[]) => Promise<ReadonlyMap<string, number>>;
  readonly authenticate: Authenticate;
  /** Milliseconds, never going back. */
  readonly now: () => number;
  readonly onFailure: (doing: string, error: unknown) => void;
}
export interface HubLimits {
  readonly watchersMax: number;
  readonly watchersOfRunMax: number;
  /** What one token may have of all watchers and of all bytes that wait: nobody can shut out everybody else. */
  readonly shareOfToken: number;
  /** Bytes that connections have not taken yet, of all watchers together. */
  readonly heldBytesMax: number;
  readonly coalesceMs: number;
  readonly tickMs: number;
  readonly lookMs: number;
  readonly beatMs: number;
  readonly slowMs: number;
}
const defaultHubLimits: HubLimits = {
  watchersMax: 10_000,
  watchersOfRunMax: 5_000,
  shareOfToken: 1 / 4,
  heldBytesMax: 256 * 1024 * 1024,
  coalesceMs: 10,
  tickMs: 1_000,
  lookMs: 5_000,
  beatMs: 15_000,
  slowMs: 30_000,
};
export interface WatchRequest {
  readonly run: { readonly id: string; readonly org: string; readonly invokedBy: string };
  readonly after: number;
  readonly authorization: string | undefined;
}
export interface Watching {
  /** The connection takes bytes again. */
  drained(): void;
  /** The client is gone. */
  closed(): void;
}

/** A batch is small enough that a connection which takes one in `slowMs` is no modem, and large enough that a long history is not many reads. */
const page = { limit: 500, bytesMax: 256 * 1024 };
const headsAtOnce = 1_000;
const lookupsAtOnce = 8;
/** How long a stream goes on that cannot be checked because the database is away. */
const unverifiedMsMax = 60_000;

interface Admitted extends Watcher {
  readonly channel: RunChannel;
  readonly request: WatchRequest;
  verified: number;
}

/**
 * Everybody who watches runs through this process. It holds no database connection while they wait: the log says what is new, and one timer does what each
 * of them would need one for: beats, cutting who takes nothing, looking at the heads in case a word of the log was lost, and whether tokens are still good.
 */
export class WatchHub {
  readonly #channels = new Map<string, { readonly org: string; readonly channel: RunChannel }>();
  readonly #watchers = new Set<Admitted>();
  readonly #tokens = new Map<string, { watchers: number; held: number }>();
  readonly #limits: HubLimits;
  #held = 0;
  #timer: NodeJS.Timeout | undefined;
  #looked = 0;
  #looking: Promise<void> | null = null;

  constructor(
    private readonly ports: HubPorts,
    limits: Partial<HubLimits> = {},
  ) {
    this.#limits = { ...defaultHubLimits, ...limits };
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  start(): void {
    this.#looked = this.ports.now();
    this.#timer = setInterval(() => this.#tick(), this.#limits.tickMs);
    this.#timer.unref();
  }

  /** Clients come back to another process with their last id. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const watcher of [...this.#watchers]) watcher.channel.end(watcher);
    await this.#looking;
  }

  hear(message: LogMessage): void {
    this.#channels.get(message.stream)?.channel.hear(message.lastSeq);
  }

  /** Throws `overloaded` while nothing was answered yet. */
  admit({ run, authorization }: Pick<WatchRequest, 'run' | 'authorization'>): void {
    const ofRun = this.#channels.get(nameOf(run))?.channel.watchers.size ?? 0;
    if (this.#watchers.size >= this.#limits.watchersMax || this.#held >= this.#limits.heldBytesMax)
      throw new Problem('overloaded', 'event streams: this process has as many as it can serve; try again');
    if (ofRun >= this.#limits.watchersOfRunMax) throw new Problem('overloaded', 'event streams: this run has too many watchers; try again');
    const { watchersMax, shareOfToken } = this.#limits;
    if (this.#ofToken(authorization).watchers >= watchersMax * shareOfToken)
      throw new Problem('overloaded', 'event streams: this token has too many open; close some and try again');
  }

  /** Sends every event after `after` once and in order, then each new one, and ends with the terminal one. */
  watch(request: WatchRequest, sink: Sink): Watching {
    this.admit(request);
    const now = this.ports.now();
    const watcher: Admitted = {
      sink,
      request,
      channel: this.#channelOf(request.run),
      cursor: request.after,
      gone: false,
      held: 0,
      heldSince: 0,
      wrote: now,
      verified: now,
      resume: null,
    };
    this.#watchers.add(watcher);
    const ofToken = this.#ofToken(request.authorization);
    ofToken.watchers += 1;
    this.#tokens.set(request.authorization ?? '', ofToken);
    watcher.channel.add(watcher);
    return { drained: () => watcher.channel.drained(watcher), closed: () => watcher.channel.remove(watcher) };
  }

  /** Looks at the heads of all watched runs and at their tokens: after the bus was away, and every few seconds. */
  look(): Promise<void> {
    this.#looking ??= Promise.all([
      this.#lookAtHeads().catch((error: unknown) => this.ports.onFailure('looking for events of watched runs', error)),
      this.#verifyTokens(),
    ]).then(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  #ofToken(authorization: string | undefined): { watchers: number; held: number } {
    return this.#tokens.get(authorization ?? '') ?? { watchers: 0, held: 0 };
  }

  #channelOf(run: WatchRequest['run']): RunChannel {
    const name = nameOf(run);
    const known = this.#channels.get(name);
    // A stream belongs to one organisation, and who asks may see the run: another one of the same name cannot be.
    if (known !== undefined) return known.channel;
    const channel: RunChannel = new RunChannel({
      read: (after) => this.ports.readEvents(run.org, run.id, { after, ...page }),
      now: this.ports.now,
      onFailure: (error) => this.ports.onFailure(`reading ${name}`, error),
      mayHold: (watcher, bytes) => {
        const { heldBytesMax, shareOfToken } = this.#limits;
        const ofToken = this.#ofToken((watcher as Admitted).request.authorization);
        return this.#held + bytes <= heldBytesMax && ofToken.held + bytes <= heldBytesMax * shareOfToken;
      },
      onHeld: (watcher, bytes) => {
        this.#held += bytes;
        this.#ofToken((watcher as Admitted).request.authorization).held += bytes;
      },
      onGone: (watcher) => {
        const { authorization } = (watcher as Admitted).request;
        const ofToken = this.#ofToken(authorization);
        ofToken.watchers -= 1;
        if (ofToken.watchers === 0) this.#tokens.delete(authorization ?? '');
        this.#watchers.delete(watcher as Admitted);
        if (channel.watchers.size === 0) this.#channels.delete(name);
      },
      coalesceMs: this.#limits.coalesceMs,
    });
    this.#channels.set(name, { org: run.org, channel });
    return channel;
  }

  #tick(): void {
    const now = this.ports.now();
    const { beatMs, slowMs, lookMs } = this.#limits;
    for (const watcher of this.#watchers) {
      if (watcher.held > 0) {
        if (now - watcher.heldSince >= slowMs) watcher.channel.cut(watcher);
      } else if (now - watcher.wrote >= beatMs) {
        watcher.wrote = now;
        watcher.sink.write(beatFrame);
      }
    }
    for (const { channel } of this.#channels.values()) channel.forget();
    if (now - this.#looked < lookMs) return;
    this.#looked = now;
    void this.look();
  }

  async #lookAtHeads(): Promise<void> {
    const names = new Map<string, string[]>();
    for (const [name, { org }] of this.#channels) names.set(org, [...(names.get(org) ?? []), name]);
    for (const [org, all] of names) {
      for (let at = 0; at < all.length; at += headsAtOnce) {
        const heads = await this.ports.heads(org, all.slice(at, at + headsAtOnce));
        for (const [name, seq] of heads) this.#channels.get(name)?.channel.hear(seq);
      }
    }
  }

  /** Each token once, however many streams it opened. */
  async #verifyTokens(): Promise<void> {
    const opened = new Map<string, Admitted[]>();
    for (const watcher of this.#watchers) {
      const key = watcher.request.authorization ?? '';
      const others = opened.get(key);
      if (others === undefined) opened.set(key, [watcher]);
      else others.push(watcher);
    }
    const rest = [...opened];
    await Promise.all(
      Array.from({ length: lookupsAtOnce }, async () => {
        for (let next = rest.pop(); next !== undefined; next = rest.pop()) await this.#verify(next[0], next[1]);
      }),
    );
  }

  async #verify(authorization: string, watchers: readonly Admitted[]): Promise<void> {
    let principal: Principal | null = null;
    try {
      principal = await this.ports.authenticate(authorization === '' ? undefined : authorization);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'unauthorized') {
        this.ports.onFailure('checking the token of an event stream', error);
        for (const watcher of watchers) if (this.ports.now() - watcher.verified >= unverifiedMsMax) watcher.channel.cut(watcher);
        return;
      }
    }
    for (const watcher of watchers) {
      if (watcher.gone) continue;
      if (principal === null) watcher.channel.end(watcher, endFrame('unauthorized', 'the token of this stream has expired or was revoked'));
      else if (!maySeeRun(principal, watcher.request.run))
        watcher.channel.end(watcher, endFrame('forbidden', 'this token may not see the run any longer'));
      else watcher.verified = this.ports.now();
    }
  }
}

const nameOf = (run: WatchRequest['run']): string => streamNameOf(runStream(run.id, run.org));
