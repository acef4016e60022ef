import { type EventDraft, Problem, type RecordedEvent, type ServiceName, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import type { ContentClass, Keyring, RunKeys } from '@fluidbox/seal';
import type { AppendGroup, AppendResult, Clock, Decision, EventStore, Fold, Ids, Ledger } from '../api';
import { mayAppend } from '../domain/appenders';
import { documentDigest } from '../domain/document-digest';
import { contentAad, prepareEvent } from '../prepare';
import { FoldCache } from './fold-cache';
import { OneAtATime } from './one-at-a-time';
import { pagesOf } from './pages-of';

export interface LedgerOptions {
  readonly store: EventStore;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly service: ServiceName;
  /** Folded streams kept in memory. Default 5,000. */
  readonly streamsMax?: number;
}

/** With its organisation: who asks for a stream under another one is answered from nothing, never from what this process knows of the real one. */
const cachedAs = (stream: Pick<StreamRef, 'category' | 'id' | 'org'>): string => `${stream.org}/${streamNameOf(stream)}`;

export function createLedger(options: LedgerOptions): Ledger {
  const { store, keyring, clock, ids, service } = options;
  const cache = new FoldCache(options.streamsMax ?? 5_000);
  // Two decisions of this process on one stream would only lose against each other.
  const turns = new OneAtATime();

  const reads = new OneAtATime();

  const readToHead = async <S>(fold: Fold<S>, stream: StreamRef): Promise<{ state: S; version: number }> => {
    const name = cachedAs(stream);
    for (;;) {
      const read = cache.readAfter(name, fold);
      if (read === 0) cache.start(name, fold);
      const heard = cache.heard(name);
      for await (const page of pagesOf(store, stream, read)) cache.apply(name, page);
      cache.caughtUp(name, heard);
      const folded = cache.get(name, fold);
      // Not there only when the log spoke of more meanwhile, or when very many other streams pushed it out.
      if (folded !== null) return folded;
    }
  };
  const catchUp = <S>(fold: Fold<S>, stream: StreamRef) => reads.run(cachedAs(stream), () => readToHead(fold, stream));
  const current = async <S>(fold: Fold<S>, stream: StreamRef): Promise<{ state: S; version: number }> =>
    cache.get(cachedAs(stream), fold) ?? (await catchUp(fold, stream));

  /** What was appended is looked at only for a stream that is folded here. */
  const learn = (stream: StreamRef, stored: { readonly events: readonly RecordedEvent[] }): void => {
    const name = cachedAs(stream);
    if (cache.has(name)) cache.apply(name, stored.events);
  };

  const prepare = async (stream: StreamRef, drafts: readonly EventDraft[], created?: RunKeys) => {
    for (const { type } of drafts) {
      if (!mayAppend(service, type)) throw new Problem('internal', `${service} is not an appender of ${type}`);
    }
    const needsKeys = drafts.some((draft) => draft.content !== undefined || draft.projection !== undefined);
    const keys = created ?? (needsKeys ? await keyring.keysOf(streamNameOf(stream)) : null);
    return drafts.map((draft) => prepareEvent(draft, { stream, keys, clock, ids }));
  };
  const groupOf = async <R>(stream: StreamRef, decision: Decision<R>, expected: number): Promise<AppendGroup> => ({
    stream,
    expected,
    events: await prepare(stream, decision.events, decision.createKeys?.keys),
    ...(decision.closes === undefined ? {} : { closes: decision.closes }),
    ...(decision.setGeneration === undefined ? {} : { setGeneration: decision.setGeneration }),
    ...(decision.createKeys === undefined ? {} : { keys: decision.createKeys.wrapped }),
    ...(decision.documents === undefined
      ? {}
      : { documents: decision.documents.map((bytes) => ({ digest: documentDigest(bytes), bytes })) }),
    ...(decision.accounts === undefined ? {} : { accounts: decision.accounts }),
  });

  const decide: Ledger['decide'] = (fold, stream, decideOn) => turns.run(cachedAs(stream), () => decideInTurn(fold, stream, decideOn));

  const decideInTurn = async <S, R>(
    fold: Fold<S>,
    stream: StreamRef,
    decideOn: (state: S, version: number) => Decision<R> | Promise<Decision<R>>,
  ): Promise<R> => {
    const { state, version } = await current(fold, stream);
    const first = await decideOn(state, version);
    if (first.events.length === 0) return first.result;
    const [answer] = await store.append([await groupOf(stream, first, version)]);
    if (answer === undefined) throw new Error('the store gave no answer');
    if (answer.ok || answer.reason !== 'conflict') return settled(stream, answer, first);
    cache.apply(cachedAs(stream), answer.missed);
    return decideUnderLock(fold, stream, decideOn);
  };

  /** The loser's second trip. Nothing can come between, so it ends. */
  const decideUnderLock = async <S, R>(
    fold: Fold<S>,
    stream: StreamRef,
    decideOn: (state: S, version: number) => Decision<R> | Promise<Decision<R>>,
  ): Promise<R> => {
    const known = await current(fold, stream);
    let decision: Decision<R> | null = null;
    const answer = await store.appendLocked(stream, known.version, async (missed, version) => {
      cache.apply(cachedAs(stream), missed);
      const { state } = await current(fold, stream);
      decision = await decideOn(state, version);
      return decision.events.length === 0 ? null : groupOf(stream, decision, version);
    });
    const made = decision as Decision<R> | null;
    if (made === null) throw new Error(`nothing was decided on ${streamNameOf(stream)}`);
    return answer === null ? made.result : settled(stream, answer, made);
  };

  const settled = <R>(stream: StreamRef, answer: AppendResult, decision: Decision<R>): R => {
    if (answer.ok) {
      learn(stream, answer);
      return decision.result;
    }
    throw refusal(streamNameOf(stream), answer.reason);
  };

  return {
    store,
    keyring,
    decide,
    record: async (stream, drafts, fence) => {
      const events = await prepare(stream, drafts);
      const [answer] = await store.append([
        { stream, events, expected: 'any', ...(fence?.generation === undefined ? {} : { generation: fence.generation }) },
      ]);
      if (answer === undefined) throw new Error('the store gave no answer');
      if (answer.ok) {
        learn(stream, answer);
        return { firstSeq: answer.firstSeq, lastSeq: answer.lastSeq };
      }
      if (answer.reason === 'closed') return null;
      throw refusal(streamNameOf(stream), answer.reason);
    },
    state: async (fold, stream, read) => (read?.fresh === true ? catchUp(fold, stream) : current(fold, stream)),
    apply: (message) => cache.applyMessage({ ...message, stream: cachedAs(message) }),
    doubt: () => cache.doubt(),
    readOpened: async (stream, page) => {
      const name = streamNameOf(stream);
      const events = await store.readSealed(stream, page);
      const keys = events.some((event) => Object.keys(event.sealed).length > 0) ? await keyring.keysOf(name) : null;
      return events.map(({ sealed, body: _, ...event }) => {
        const opened: Partial<Record<ContentClass, unknown>> = {};
        for (const [keyClass, bytes] of Object.entries(sealed) as [ContentClass, Buffer][]) {
          const plain = keys?.open(keyClass, bytes, contentAad(stream.org, name, keyClass, event.eventId));
          if (plain != null) opened[keyClass] = JSON.parse(plain.toString('utf8'));
        }
        return { ...event, opened };
      });
    },
    content: async (stream, seq, keyClass) => {
      const sealed = (await store.readContent(stream, [seq], keyClass)).get(seq);
      const event: RecordedEvent | undefined = (await store.read(stream, { after: seq - 1, limit: 1 }))[0];
      if (sealed === undefined || event === undefined) return null;
      const name = streamNameOf(stream);
      const plain = (await keyring.keysOf(name)).open(keyClass, sealed, contentAad(stream.org, name, keyClass, event.eventId));
      return plain === null ? null : JSON.parse(plain.toString('utf8'));
    },
  };
}

function refusal(stream: string, reason: 'conflict' | 'closed' | 'stale_lease' | 'over_account'): Problem {
  switch (reason) {
    case 'closed':
      return new Problem('run_not_active', `${stream} has ended; nothing can be added to it`);
    case 'stale_lease':
      return new Problem('stale_lease', `${stream} has a newer generation`);
    case 'over_account':
      return new Problem('budget_exhausted', `an account of ${stream} has no room for this`);
    case 'conflict':
      return new Problem('conflict', `${stream} has changed; ask again`);
  }
}
