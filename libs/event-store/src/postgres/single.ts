import { contentRows, type Query, type Unit, type UnitOutcome } from './batch';
import type { EncodedEvent } from './encoded';

/** Larger ones are worth the batch statement, and each shape is a plan in every session. */
const eventsMax = 4;
const contentsMax = 8;

/**
 * The append of one caller who is alone: what nearly every decision is. Before it has stored anything the batch statement costs five times as much as an
 * insert (arrays, joins, an answer by unit); here every value is a parameter and the head moves first. It stores only what raises no question: no row
 * in the answer, and the batch statement finds out why.
 *
 * Null: not for this statement (keys, documents or accounts come along, or it is large).
 */
export function singleAppendQuery(unit: Unit): Query | null {
  const lead = unit.groups[0]?.group;
  if (lead === undefined) return null;
  const events: EncodedEvent[] = [];
  for (const { group, events: more } of unit.groups) {
    if (group.keys !== undefined || (group.documents?.length ?? 0) > 0 || (group.accounts?.length ?? 0) > 0) return null;
    events.push(...more);
  }
  const contents = contentRows(lead.stream.category, events);
  if (events.length > eventsMax || contents.length > contentsMax) return null;
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
  return { ...statementOf(events.length, contents.length), values };
}

export interface SingleRow {
  readonly version: string;
  readonly generation: number;
  readonly positions: readonly string[];
}
export const singleOutcome = ({ version, generation, positions }: SingleRow): UnitOutcome => ({
  status: 'ok',
  version: Number(version),
  generation,
  positions: positions.map(Number),
});

interface Statement {
  readonly name: string;
  readonly text: string;
}
const statements = new Map<number, Statement>();
function statementOf(events: number, contents: number): Statement {
  const shape = events * (contentsMax + 1) + contents;
  const known = statements.get(shape) ?? { name: `ledger-append-${events}-${contents}`, text: textOf(events, contents) };
  statements.set(shape, known);
  return known;
}

const unitParameters = 7;
const eventTypes = ['uuid', 'text', 'integer', 'timestamptz', 'text', 'bytea', 'bytea'];
const contentTypes = ['integer', 'text', 'integer', 'bytea'];

function textOf(events: number, contents: number): string {
  const digestOf = (event: number): string => `$${unitParameters + event * eventTypes.length}::bytea`;
  /** The hash of the nth event of this append, from the hash and the seq before it. */
  const hash = (n: number, before: string, seq: string): string =>
    n === 0 ? before : `sha256(${hash(n - 1, before, seq)} || int8send(${seq} + ${n}) || ${digestOf(n)})`;
  const eventRow = (n: number): string => {
    const cells = eventTypes.map((type, i) => `$${unitParameters + n * eventTypes.length + i + 1}::${type}`);
    return `(${[n + 1, ...cells, hash(n, 'm.prev_hash', 'm.version'), hash(n + 1, 'm.prev_hash', 'm.version')].join(', ')})`;
  };
  const contentRow = (n: number): string => {
    const from = unitParameters + events * eventTypes.length + n * contentTypes.length;
    return `(${contentTypes.map((type, i) => `$${from + i + 1}::${type}`).join(', ')})`;
  };
  const sealed = `, sealed as (
  insert into ledger.content (stream, seq, class, org_id, sealed, expires_at)
  select $1, m.version + 1 + c.event, c.class, $2, c.sealed, now() + make_interval(days => c.days)
  from moved m, (values ${times(contents, contentRow)}) as c (event, class, days, sealed)
)`;
  // On the right of `set` stands the row as it was before, also when the update had to wait for another one.
  return `with moved as (
  update ledger.stream_heads
  set seq = seq + ${events}, prev_hash = hash, hash = ${hash(events, 'hash', 'seq')}, generation = coalesce($6::integer, generation), closed = $7::boolean
  where stream = $1::text and org_id = $2::text and not closed and ($4::bigint is null or seq = $4) and ($5::integer is null or generation = $5)
  returning seq - ${events} as version, prev_hash, generation
), stored as (
  insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash)
  select $2, $1, $3::text, m.version + e.n, e.event_id, e.type, e.version, m.generation, e.occurred, e.actor, e.body, e.digest, e.prev_hash, e.hash
  from moved m, lateral (values ${times(events, eventRow)}) as e (n, event_id, type, version, occurred, actor, body, digest, prev_hash, hash)
  order by e.n
  returning global_position
)${contents === 0 ? '' : sealed}
select version, generation, array(select global_position from stored order by 1) as positions from moved`;
}

const times = (count: number, row: (n: number) => string): string => Array.from({ length: count }, (_, n) => row(n)).join(', ');
