import { type LogMessage, Problem, type RecordedEvent, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import pg from 'pg';
import type { AppendGroup, AppendResult, EventStore } from '../api';
import { checkGroup } from '../domain/check-group';
import { logMessageOf } from '../domain/recorded';
import { storedResult } from '../domain/stored-result';
import { appendQuery, outcomesOf, type UnitRow } from './batch';
import { encodeGroup, storedGroups } from './encoded';
import { failureOf } from './errors';
import { pageMax, type Reader } from './reader';
import { untilAnswered } from './retry';
import { inTransaction } from './transaction';

export interface LockedAppendContext {
  readonly pool: pg.Pool;
  readonly reader: Reader;
  readonly publish: (message: LogMessage) => void;
  readonly retryMs: number;
}
interface Locked {
  readonly result: AppendResult | null;
  readonly message: LogMessage | null;
}

/**
 * Lock the head, read the delta, decide, append, commit. When the connection breaks nobody knows whether the commit arrived: before it decides
 * again it looks for the events of its last try, so that a decision is never refused because of itself.
 */
export async function lockedAppend(
  context: LockedAppendContext,
  stream: StreamRef,
  after: number,
  build: Parameters<EventStore['appendLocked']>[2],
): Promise<AppendResult | null> {
  let tried: AppendGroup | null = null;
  const remember: typeof build = async (missed, version) => {
    tried = await build(missed, version);
    return tried;
  };
  return untilAnswered('append', context.retryMs, async () => {
    const earlier = tried === null ? null : await storedEarlier(context.reader, tried);
    if (earlier !== null) return earlier;
    try {
      const { result, message } = await inTransaction(context.pool, (client) =>
        decideUnderLock(context.reader, client, stream, after, remember),
      );
      if (message !== null) context.publish(message);
      return result;
    } catch (error) {
      return failedBecause(context.reader, error, tried);
    }
  });
}

/** As the group commit answers: what is stored already is no error, and what the database does not take is one of ours. */
async function failedBecause(reader: Reader, error: unknown, tried: AppendGroup | null): Promise<AppendResult> {
  if (!(error instanceof pg.DatabaseError) || tried === null) throw error;
  const failure = failureOf(error);
  const earlier = failure === 'duplicate' ? await storedEarlier(reader, tried) : null;
  if (earlier !== null) return earlier;
  if (failure === 'retry' || failure === 'refused') throw error;
  throw new Problem('internal', `append to ${streamNameOf(tried.stream)} failed`, { cause: error });
}

const storedEarlier = async (reader: Reader, group: AppendGroup): Promise<AppendResult | null> =>
  storedResult(group, await reader.byIds(group.events.map((event) => event.eventId)));

async function decideUnderLock(
  reader: Reader,
  client: pg.PoolClient,
  stream: StreamRef,
  after: number,
  build: Parameters<EventStore['appendLocked']>[2],
): Promise<Locked> {
  const name = streamNameOf(stream);
  const { rows } = await client.query<{ seq: string }>('select seq from ledger.stream_heads where stream = $1 and org_id = $2 for update', [
    name,
    stream.org,
  ]);
  const version = Number(rows[0]?.seq ?? 0);
  const group = await build(await delta(reader, client, stream, after, version), version);
  if (group === null) return { result: null, message: null };
  checkGroup(group);
  if (streamNameOf(group.stream) !== name)
    throw new Problem('internal', `the lock is on ${name}, the group is for ${streamNameOf(group.stream)}`);
  const units = [{ stream: name, groups: [encodeGroup(group)] }];
  const appended = await client.query<UnitRow>(appendQuery(units, version === 0));
  const [outcome] = outcomesOf(appended.rows, units);
  if (outcome === undefined) throw new Error(`no outcome for ${name}`);
  if (outcome.status !== 'ok') return { result: await reader.refusal(group, outcome), message: null };
  const { results, log } = storedGroups(units[0]?.groups ?? [], outcome);
  return { result: results[0] ?? null, message: logMessageOf(stream, outcome.generation, log) };
}

async function delta(reader: Reader, client: pg.PoolClient, stream: StreamRef, after: number, version: number): Promise<RecordedEvent[]> {
  const missed: RecordedEvent[] = [];
  while (after + missed.length < version) {
    const page = await reader.read(stream, after + missed.length, pageMax, client);
    if (page.length === 0) break;
    missed.push(...page);
  }
  return missed;
}
