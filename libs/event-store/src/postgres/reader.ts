import { type LedgerBody, Problem, type RecordedEvent, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import type { ContentClass, WrappedRunKeys } from '@fluidbox/seal';
import type pg from 'pg';
import type { AppendGroup, AppendResult, SealedEvent } from '../api';
import { documentDigest } from '../domain/document-digest';
import { recordedOf } from '../domain/recorded';
import { storedResult } from '../domain/stored-result';
import type { UnitOutcome } from './batch';

export const pageMax = 1_000;
const missedMax = 50_000;
const sealedBytesMax = 8 * 1024 * 1024;

interface EventRow {
  readonly seq: string;
  readonly global_position: string;
  readonly body: Buffer;
  readonly hash: Buffer;
}
type TextRow = Pick<EventRow, 'seq' | 'global_position'> & { readonly body: Buffer | string };
const recordedRow = (row: TextRow): RecordedEvent =>
  recordedOf(Number(row.seq), Number(row.global_position), JSON.parse(row.body.toString()) as LedgerBody);
interface HashAndBody {
  readonly hash: string;
  readonly body: string;
}
const hashedRow = (row: EventRow): RecordedEvent & HashAndBody => ({
  ...recordedRow(row),
  hash: row.hash.toString('hex'),
  body: row.body.toString('utf8'),
});
/** What is folded: as text, because bytes would travel as hexadecimal digits. What is verified stays bytes, whatever somebody made of them. */
const foldedColumns = "seq, global_position, convert_from(body, 'UTF8') as body";

/** Runs a read, again while the database does not answer; for a role under row-level security in a transaction that names the organisation. */
export type RunAs = <T>(org: string | null, work: (client: pg.Pool | pg.ClientBase) => Promise<T>) => Promise<T>;

export class Reader {
  constructor(private readonly runAs: RunAs) {}

  /** `within`: a client whose transaction must see what it has locked. */
  async read(stream: StreamRef, after: number, limit: number, within?: pg.ClientBase): Promise<RecordedEvent[]> {
    const [page] = await this.#rows<FoldedPage>('ledger-read', foldedPageText, stream, after, limit, within);
    return page === undefined ? [] : recordedPage(page);
  }

  async readWithHashes(stream: StreamRef, after: number, limit: number): Promise<(RecordedEvent & HashAndBody)[]> {
    return (await this.#rows<EventRow>('ledger-read-hashes', pageOf('seq, global_position, body, hash'), stream, after, limit)).map(
      hashedRow,
    );
  }

  async #rows<Row extends object>(
    name: string,
    text: string,
    stream: StreamRef,
    after: number,
    limit: number,
    within?: pg.ClientBase,
  ): Promise<Row[]> {
    const query = {
      name,
      text,
      values: [streamNameOf(stream), stream.org, after, Math.min(limit, pageMax)],
    };
    const { rows } =
      within === undefined
        ? await this.runAs(stream.org, (client) => client.query<Row & pg.QueryResultRow>(query))
        : await within.query<Row & pg.QueryResultRow>(query);
    return rows;
  }

  async readSealed(stream: StreamRef, after: number, limit: number, bytesMax = sealedBytesMax): Promise<SealedEvent[]> {
    const { rows } = await this.runAs(stream.org, (client) =>
      client.query<EventRow & { rest: Buffer | null; projection: Buffer | null }>({
        name: 'ledger-read-sealed',
        text: readSealedText,
        values: [streamNameOf(stream), stream.org, after, Math.min(limit, pageMax), bytesMax],
      }),
    );
    return rows.map((row) => ({
      ...hashedRow(row),
      sealed: { ...(row.rest === null ? {} : { rest: row.rest }), ...(row.projection === null ? {} : { projection: row.projection }) },
    }));
  }

  async heads(org: string, streams: readonly string[]): Promise<Map<string, number>> {
    const { rows } = await this.runAs(org, (client) =>
      client.query<{ stream: string; seq: string }>('select stream, seq from ledger.stream_heads where org_id = $1 and stream = any ($2)', [
        org,
        streams,
      ]),
    );
    return new Map(rows.map((row) => [row.stream, Number(row.seq)]));
  }

  async eventsAt(org: string, places: readonly { stream: string; seq: number }[]): Promise<(RecordedEvent & HashAndBody)[]> {
    const { rows } = await this.runAs(org, (client) =>
      client.query<EventRow>(
        `select seq, global_position, body, hash from unnest($2::text[], $3::bigint[]) place (stream, seq)
         join ledger.events using (stream, seq) where org_id = $1`,
        [org, places.map(({ stream }) => stream), places.map(({ seq }) => seq)],
      ),
    );
    return rows.map(hashedRow);
  }

  async readContent(stream: StreamRef, seqs: readonly number[], keyClass: ContentClass): Promise<Map<number, Buffer>> {
    const { rows } = await this.runAs(stream.org, (client) =>
      client.query<{ seq: string; sealed: Buffer }>(
        'select seq, sealed from ledger.content where stream = $1 and org_id = $2 and class = $3 and seq = any ($4)',
        [streamNameOf(stream), stream.org, keyClass, seqs],
      ),
    );
    return new Map(rows.map((row) => [Number(row.seq), row.sealed]));
  }

  async head(stream: StreamRef): Promise<{ version: number; hash: string; generation: number; closed: boolean } | null> {
    const { rows } = await this.runAs(stream.org, (client) =>
      client.query<{ seq: string; hash: Buffer; generation: number; closed: boolean }>({
        name: 'ledger-head',
        text: 'select seq, hash, generation, closed from ledger.stream_heads where stream = $1 and org_id = $2 and seq > 0',
        values: [streamNameOf(stream), stream.org],
      }),
    );
    const row = rows[0];
    return row === undefined
      ? null
      : { version: Number(row.seq), hash: row.hash.toString('hex'), generation: row.generation, closed: row.closed };
  }

  async wrappedKeys(stream: string): Promise<WrappedRunKeys | null> {
    const { rows } = await this.runAs(null, (client) =>
      client.query<{ projection: Buffer | null; rest: Buffer | null; salt: Buffer | null }>({
        name: 'ledger-keys',
        text: 'select projection, rest, salt from ledger.run_keys where stream = $1',
        values: [stream],
      }),
    );
    return rows[0] ?? null;
  }

  async document(digest: string): Promise<Buffer | null> {
    const { rows } = await this.runAs(null, (client) =>
      client.query<{ bytes: Buffer }>('select bytes from ledger.documents where digest = $1', [
        Buffer.from(digest.replace('sha256:', ''), 'hex'),
      ]),
    );
    const bytes = rows[0]?.bytes;
    if (bytes === undefined) return null;
    const actual = documentDigest(bytes);
    if (actual !== digest)
      throw new Problem('internal', `document ${digest} has the digest ${actual}: the database was changed behind the ledger`);
    return bytes;
  }

  async putDocument(bytes: Buffer): Promise<string> {
    const digest = documentDigest(bytes);
    await this.runAs(null, (client) =>
      client.query('insert into ledger.documents (digest, bytes) values ($1, $2) on conflict do nothing', [
        Buffer.from(digest.slice('sha256:'.length), 'hex'),
        bytes,
      ]),
    );
    return digest;
  }

  async byIds(eventIds: readonly string[]): Promise<Map<string, RecordedEvent>> {
    const { rows } = await this.runAs(null, (client) =>
      client.query<TextRow>(`select ${foldedColumns} from ledger.events where event_id = any ($1)`, [eventIds]),
    );
    return new Map(rows.map(recordedRow).map((event) => [event.eventId, event]));
  }

  /** What a group that was left out of its batch is answered. If its events are there, an earlier try had stored it. */
  async refusal(group: AppendGroup, outcome: UnitOutcome): Promise<AppendResult> {
    if (outcome.status === 'foreign')
      throw new Problem('not_found', `stream ${streamNameOf(group.stream)} is not one of organisation ${group.stream.org}`);
    if (outcome.status === 'conflict') {
      // Newer than the outcome, if more was appended meanwhile: the caller decides on what is true now.
      const missed = await this.#missed(group, outcome.version);
      const version = missed.at(-1)?.seq ?? outcome.version;
      return (
        storedResult(group, new Map(missed.map((event) => [event.eventId, event]))) ?? { ok: false, reason: 'conflict', missed, version }
      );
    }
    const stored = storedResult(group, await this.byIds(group.events.map((event) => event.eventId)));
    if (stored !== null) return stored;
    if (outcome.status === 'closed' || outcome.status === 'stale_lease' || outcome.status === 'over_account')
      return { ok: false, reason: outcome.status };
    throw new Error(`unknown outcome ${outcome.status}`);
  }

  async #missed(group: AppendGroup, version: number): Promise<RecordedEvent[]> {
    const missed: RecordedEvent[] = [];
    let at = group.expected === 'any' ? 0 : group.expected;
    while (at < version && missed.length < missedMax) {
      const page = await this.read(group.stream, at, pageMax);
      if (page.length === 0) break;
      missed.push(...page);
      at += page.length;
    }
    return missed;
  }
}

/**
 * At most $4 events after $3. The upper bound matters: where statistics are old, as those of a run that grew within a minute are, Postgres takes the rest
 * of a stream for a few rows and sorts all of it for each page. A stream has no gaps, so the bound cuts nothing off; in one that somebody
 * damaged the second part goes on behind the gap.
 */
const pageOf = (columns: string): string => `
  with page as (
    select ${columns} from ledger.events where stream = $1 and org_id = $2 and seq > $3::bigint and seq <= $3::bigint + $4::bigint
  )
  select * from page union all
  select * from (
    select ${columns} from ledger.events where stream = $1 and org_id = $2 and seq > $3::bigint + $4::bigint
    order by seq limit $4::bigint - (select count(*) from page)
  ) behind
  order by seq`;

/**
 * A page that is folded, as one row: a row for each event would cost the process that folds a quarter of its time. Bodies have no raw line break, being
 * JSON in its canonical form; each is parsed by itself, so that none can speak for another.
 */
interface FoldedPage {
  readonly seqs: string;
  readonly positions: string;
  readonly bodies: string;
}
const foldedPageText = `
  select string_agg(seq::text, ',' order by seq) as seqs, string_agg(global_position::text, ',' order by seq) as positions,
    string_agg(convert_from(body, 'UTF8'), E'\\n' order by seq) as bodies
  from (${pageOf('seq, global_position, body')}) page
  having count(*) > 0`;
function recordedPage(page: FoldedPage): RecordedEvent[] {
  const [seqs, positions, bodies] = [page.seqs.split(','), page.positions.split(','), page.bodies.split('\n')];
  if (bodies.length !== seqs.length)
    throw new Problem('internal', 'a body has a raw line break: the database was changed behind the ledger');
  return bodies.map((body, i) => recordedOf(Number(seqs[i]), Number(positions[i]), JSON.parse(body) as LedgerBody));
}

/** Sizes come from the rows' headers: what is over the limit is never fetched. */
const readSealedText = `
  select seq, global_position, body, hash, rest, projection from (
    select e.seq, e.global_position, e.body, e.hash, r.sealed as rest, p.sealed as projection,
      sum(octet_length(e.body) + coalesce(octet_length(r.sealed), 0) + coalesce(octet_length(p.sealed), 0)) over (order by e.seq) as total
    from (${pageOf('*')}) e
    left join ledger.content r on r.stream = e.stream and r.seq = e.seq and r.class = 'rest' and r.org_id = e.org_id
    left join ledger.content p on p.stream = e.stream and p.seq = e.seq and p.class = 'projection' and p.org_id = e.org_id
  ) sized
  where total <= $5 or seq = $3::bigint + 1
  order by seq`;
