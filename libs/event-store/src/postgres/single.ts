import type { AccountChange } from '../api';
import { mergedAccounts } from '../domain/merged-accounts';
import { contentRows, type Query, type Unit } from './batch';
import type { EncodedEvent } from './encoded';

/** An account did not take its change (its limit, or it does not exist yet), so the statement fails and takes back what it has done. */
export const refused = 'FB001';

/** Larger ones are worth the batch statement, and each shape is a plan in every session. */
const eventsMax = 4;
const contentsMax = 8;
const accountsMax = 4;

/**
 * The append of one caller who is alone: what nearly every decision is. Before it has stored anything the batch statement costs five times as much as an
 * insert (arrays, joins, an answer by unit); here every value is a parameter, the head moves first and then the accounts. It stores only what raises no
 * question: no row in the answer or the error `refused`, and the batch statement finds out why.
 *
 * Null: not for this statement (keys or documents come along, or it is large).
 */
export function singleAppendQuery(unit: Unit): Query | null {
  const lead = unit.groups[0]?.group;
  if (lead === undefined) return null;
  const events: EncodedEvent[] = [];
  const changes: AccountChange[] = [];
  for (const { group, events: more } of unit.groups) {
    if (group.keys !== undefined || (group.documents?.length ?? 0) > 0) return null;
    events.push(...more);
    changes.push(...(group.accounts ?? []));
  }
  const contents = contentRows(lead.stream.category, events);
  const accounts = changes.length === 0 ? changes : mergedAccounts(changes).sort(inKeyOrder);
  if (events.length > eventsMax || contents.length > contentsMax || accounts.length > accountsMax) return null;
  const values: unknown[] = [
    unit.stream,
    lead.stream.org,
    lead.stream.category,
    lead.expected === 'any' ? null : lead.expected,
    lead.generation ?? null,
    lead.setGeneration ?? null,
    lead.closes === true,
  ];
  for (const { prepared, body, bytes, digest } of events)
    values.push(prepared.eventId, body.type, body.version, body.occurred_at, body.actor, bytes, digest);
  for (const { event, keyClass, days, sealed } of contents) values.push(event, keyClass, days, sealed);
  for (const { scope, period, reserve, settle } of accounts) values.push(scope, period, reserve, settle);
  return { ...statementOf(events.length, contents.length, accounts.length), values };
}

/** As the batch statement locks them: by the bytes of their key. */
const inKeyOrder = (a: AccountChange, b: AccountChange): number =>
  Buffer.compare(Buffer.from(a.scope), Buffer.from(b.scope)) || Buffer.compare(Buffer.from(a.period), Buffer.from(b.period));

interface Statement {
  readonly name: string;
  readonly text: string;
}
const statements = new Map<string, Statement>();
function statementOf(events: number, contents: number, accounts: number): Statement {
  const name = `ledger-append-${events}-${contents}-${accounts}`;
  const known = statements.get(name) ?? { name, text: textOf(events, contents, accounts) };
  statements.set(name, known);
  return known;
}

const unitParameters = 7;
const eventTypes = ['uuid', 'text', 'integer', 'timestamptz', 'text', 'bytea', 'bytea'];
const contentTypes = ['integer', 'text', 'integer', 'bytea'];
const accountTypes = ['text', 'text', 'bigint', 'bigint'];

function textOf(events: number, contents: number, accounts: number): string {
  const firstContent = unitParameters + events * eventTypes.length + 1;
  const firstAccount = firstContent + contents * contentTypes.length;
  const digestOf = (n: number): string => `$${unitParameters + (n + 1) * eventTypes.length}::bytea`;
  /** The hash of the nth event of this append, from the hash and the seq before the first. */
  const hash = (n: number, before: string, seq: string): string =>
    n === 0 ? before : `sha256(${hash(n - 1, before, seq)} || int8send(${seq} + ${n}) || ${digestOf(n - 1)})`;
  const hashInRow = (n: number): string => (n === events ? 'm.hash' : hash(n, 'm.prev_hash', `(m.seq - ${events})`));
  // On the right of `set` stands the row as it was before, also when the update had to wait for another one.
  const moved = `
moved as (
  update ledger.stream_heads
  set seq = seq + ${events}, prev_hash = hash, hash = ${hash(events, 'hash', 'seq')}, generation = coalesce($6::integer, generation), closed = $7::boolean
  where stream = $1::text and org_id = $2::text and not closed and ($4::bigint is null or seq = $4) and ($5::integer is null or generation = $5)
  returning seq, prev_hash, hash, generation
)`;
  // In the order of their keys whichever side leads the join (see connection.ts): that in which everybody locks them.
  const spent = `
spent as (
  update ledger.budget_accounts b set reserved = b.reserved + a.reserve, spent = b.spent + a.settle, updated_at = now()
  from moved, (values ${rows(firstAccount, accountTypes, accounts)}) as a (scope, period, reserve, settle)
  where b.scope = a.scope and b.period = a.period and (a.reserve > 0 and b.spent + b.reserved + a.reserve > b."limit") is not true
  returning 1
)`;
  const sealed = `
sealed as (
  insert into ledger.content (stream, seq, class, org_id, sealed, expires_at)
  select $1, m.seq - ${events - 1} + c.event, c.class, $2, c.sealed, now() + make_interval(days => c.days)
  from moved m, (values ${rows(firstContent, contentTypes, contents)}) as c (event, class, days, sealed)
)`;
  const last = accounts === 0 ? 'm.seq' : `case (select count(*) from spent) when ${accounts} then m.seq else ledger.refuse_accounts() end`;
  const event = (n: number): string => cells(unitParameters + 1 + n * eventTypes.length, eventTypes);
  const several = times(events, (n) => `(${n + 1}, ${hashInRow(n)}, ${hashInRow(n + 1)}, ${event(n)})`);
  const stored = `
stored as (
  insert into ledger.events (org_id, stream, category, generation, seq, prev_hash, hash, event_id, type, event_version, occurred_at, actor, body, body_digest)
  select $2, $1, $3::text, m.generation, ${
    events === 1
      ? `${last}, m.prev_hash, m.hash, ${event(0)}
  from moved m`
      : `${last} - ${events} + e.n, e.prev_hash, e.hash, e.event_id, e.type, e.version, e.occurred, e.actor, e.body, e.digest
  from moved m, lateral (values ${several}) as e (n, prev_hash, hash, event_id, type, version, occurred, actor, body, digest)
  order by e.n`
  }
  returning stream, seq, generation, global_position
)`;
  const parts = [moved, ...(accounts === 0 ? [] : [spent]), ...(contents === 0 ? [] : [sealed]), stored];
  return `with${parts.join(',')}
select stream, seq, generation, global_position from stored`;
}

const times = (count: number, row: (n: number) => string): string => Array.from({ length: count }, (_, n) => row(n)).join(', ');
const cells = (from: number, types: readonly string[]): string => types.map((type, i) => `$${from + i}::${type}`).join(', ');
const rows = (from: number, types: readonly string[], count: number): string =>
  times(count, (n) => `(${cells(from + n * types.length, types)})`);
