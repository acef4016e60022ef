import { contentClasses } from './batch';

/** Name and type. */
type Column = readonly [string, string];
export const unitColumns: readonly Column[] = [
  ...(['stream', 'org', 'category'] as const).map((name): Column => [name, 'text']),
  ['expected', 'bigint'],
  ['fence', 'integer'],
  ['set_generation', 'integer'],
  ['closes', 'boolean'],
  ['count', 'integer'],
];
export const accountColumns: readonly Column[] = [
  ['scope', 'text'],
  ['period', 'text'],
  ['reserve', 'bigint'],
  ['settle', 'bigint'],
];
const eventColumns: readonly Column[] = [
  ['event_id', 'uuid'],
  ['type', 'text'],
  ['version', 'integer'],
  ['occurred', 'timestamptz'],
  ['actor', 'text'],
  ['start', 'integer'],
  ['length', 'integer'],
];
const contentColumns: readonly Column[] = contentClasses.flatMap((each) =>
  ['start', 'length', 'days'].map((name): Column => [`${each}_${name}`, 'integer']),
);
export const columnsOfEvent = (hasContent: boolean): readonly Column[] => [...eventColumns, ...(hasContent ? contentColumns : [])];

interface Statement {
  readonly name: string;
  readonly text: string;
}
const statements = new Map<string, Statement>();
/** `events` and `accounts`: the most that a stream gets and changes. What a stream does not have is null. */
export function statementOf(events: number, hasContent: boolean, accounts: number): Statement {
  const name = `ledger-append-each-${events}-${accounts}${hasContent ? '-sealed' : ''}`;
  const known = statements.get(name) ?? { name, text: textOf(events, hasContent, accounts) };
  statements.set(name, known);
  return known;
}

function textOf(events: number, hasContent: boolean, accounts: number): string {
  const places = Array.from({ length: events }, (_, n) => n);
  const purses = Array.from({ length: accounts }, (_, n) => n);
  const all = [
    ...unitColumns,
    ...purses.flatMap((n) => accountColumns.map(([name, type]): Column => [`${name}_${n}`, type])),
    ...places.flatMap((n) => columnsOfEvent(hasContent).map(([name, type]): Column => [`${name}_${n}`, type])),
  ];
  const bytes = (start: string, length: string): string => `substring($${all.length + 1}::bytea from ${start} + 1 for ${length})`;
  const digest = (row: string, n: number): string =>
    `substring($${all.length + 2}::bytea from (${row}.ord::integer * ${events} - ${events - n}) * 32 + 1 for 32)`;
  /** The hash of the nth event of a stream, from the hash and the seq before its first. */
  const hash = (n: number, row: string, before: string, seq: string): string =>
    n === 0 ? before : `sha256(${hash(n - 1, row, before, seq)} || int8send(${seq} + ${n}) || ${digest(row, n - 1)})`;
  const hashInRow = (n: number): string => hash(n, 'm', 'm.prev_hash', '(m.seq - m.count)');
  const ifLast = (n: number): string => (events === 1 ? 'm.hash' : `case m.count when ${n} then m.hash else ${hashInRow(n)} end`);
  const last =
    events === 1
      ? hash(1, 'u', 'h.hash', 'h.seq')
      : `case u.count ${places.map((n) => `when ${n + 1} then ${hash(n + 1, 'u', 'h.hash', 'h.seq')}`).join(' ')} end`;
  const allSpent = `case (select count(*) from spent) when (select count(*) from spending) then m.seq - m.count + 1 else ledger.refuse_accounts() end`;
  const event = (n: number): string => `
  select m.org, m.stream, m.category, m.generation, ${n === 0 && accounts > 0 ? allSpent : `m.seq - m.count + ${n + 1}`}, ${hashInRow(n)}, ${ifLast(n + 1)},
    m.event_id_${n}, m.type_${n}, m.version_${n}, m.occurred_${n}, m.actor_${n}, ${bytes(`m.start_${n}`, `m.length_${n}`)}, ${digest('m', n)}
  from moved m${n === 0 ? '' : ` where m.count > ${n}`}`;
  const content = (n: number, each: string): string => `
  select m.stream, m.seq - m.count + ${n + 1}, '${each}', m.org, ${bytes(`m.${each}_start_${n}`, `m.${each}_length_${n}`)}, now() + make_interval(days => m.${each}_days_${n})
  from moved m where m.${each}_start_${n} is not null`;
  const sealed = `sealed as (
  insert into ledger.content (stream, seq, class, org_id, sealed, expires_at)${places.flatMap((n) => contentClasses.map((each) => content(n, each))).join(' union all')}
), `;
  const change = (n: number): string => `
    select m.scope_${n} as scope, m.period_${n} as period, m.reserve_${n} as reserve, m.settle_${n} as settle from moved m where m.scope_${n} is not null`;
  // Nothing that one of them gives back is counted before another one takes: whoever comes first, there is room.
  const spent = `spending as (
  select scope, period, sum(reserve)::bigint as reserve, sum(settle)::bigint as settle, bool_or(reserve > 0) as takes, sum(greatest(reserve, 0) + greatest(settle, 0)) as most
  from (${purses.map(change).join(' union all')}) c group by scope, period
), spent as (
  update ledger.budget_accounts b set reserved = b.reserved + a.reserve, spent = b.spent + a.settle, updated_at = now()
  from (select * from spending order by scope collate "C", period collate "C") a
  where b.scope = a.scope and b.period = a.period and (a.takes and b.spent + b.reserved + a.most > b."limit") is not true
  returning 1
), `;
  // Rows of `u` come in stream order and so do those of the index: heads are locked in that order whichever of the two leads the join (see connection.ts).
  return `with moved as (
  update ledger.stream_heads h
  set seq = h.seq + u.count, prev_hash = h.hash, hash = ${last}, generation = coalesce(u.set_generation, h.generation), closed = u.closes
  from unnest(${all.map(([, type], i) => `$${i + 1}::${type}[]`).join(', ')}) with ordinality
    as u (${all.map(([name]) => name).join(', ')}, ord)
  where h.stream = u.stream and h.org_id = u.org and not h.closed and (u.expected is null or h.seq = u.expected) and (u.fence is null or h.generation = u.fence)
  returning u.*, h.seq, h.prev_hash, h.hash, h.generation
), ${accounts > 0 ? spent : ''}${hasContent ? sealed : ''}stored as (
  insert into ledger.events (org_id, stream, category, generation, seq, prev_hash, hash, event_id, type, event_version, occurred_at, actor, body, body_digest)${places.map(event).join(' union all')}${events === 1 ? '' : '\n  order by 5'}
  returning stream, seq, generation, global_position
)
select stream, seq, generation, global_position from stored`;
}
