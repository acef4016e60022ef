import type { LedgerBody, RecordedEvent, StreamCategory } from '@fluidbox/contracts';
import type { SqlClient } from '../api';
import { recordedOf } from '../domain/recorded';

const holesMax = 10_000;

/**
 * The global order is the order of `global_position`, which is given out before it becomes visible: 8 may commit while 7 is still open. A reader that
 * went on past 7 would never see it. Positions are contiguous unless one is open or was rolled back, so the reader stops at a hole until it is sure that
 * nobody can fill it: every transaction that had an id when the hole was seen has ended. Every appender has its id before it takes a position, because it
 * locks heads first. (Ordering by transaction id instead would be wrong: a stream's later event may have the smaller one. And the `xmax` of a snapshot is no
 * bound for ids that were given out: it is one past the highest that has *ended*. So the reader takes an id itself.)
 * Without holes nobody waits; with one the wait is bounded by `idle_in_transaction_session_timeout`.
 */
export class GlobalOrder {
  /** Holes that readers stand before, by the position in front, with an id larger than that of any transaction that could fill it. */
  readonly #holes = new Map<number, bigint>();

  /** `client` must not be inside a transaction: its own open id would keep the hole alive. `blocked`: a hole was not passed yet, ask again soon. */
  async page(client: SqlClient, options: PageOptions): Promise<Page> {
    const events: RecordedEvent[] = [];
    let position = options.after;
    for (;;) {
      const { rows } = await client.query<PageRow>(pageText, [
        position,
        options.limit - events.length,
        options.categories,
        options.types ?? null,
        options.upTo ?? null,
      ]);
      let hole = false;
      for (const row of rows) {
        const at = Number(row.global_position);
        hole = options.upTo === undefined && at !== position + 1 && !this.#isDead(position, row);
        if (hole) break;
        position = at;
        if (row.body !== null) events.push(recordedOf(Number(row.seq), at, JSON.parse(row.body) as LedgerBody));
      }
      if (!hole) {
        const whole = options.upTo !== undefined && rows.length < options.limit;
        return { events, position: whole ? Math.max(position, options.upTo) : position, blocked: false };
      }
      if (this.#holes.has(position)) return { events, position, blocked: true };
      const { rows: ids } = await client.query<{ id: string }>('select pg_current_xact_id()::text as id');
      if (this.#holes.size >= holesMax) this.#holes.clear();
      this.#holes.set(position, BigInt(ids[0]?.id ?? 0));
    }
  }

  #isDead(after: number, row: PageRow): boolean {
    const bound = this.#holes.get(after);
    return bound !== undefined && BigInt(row.xmin) >= bound;
  }
}

export interface PageOptions {
  readonly after: number;
  readonly limit: number;
  readonly categories: readonly StreamCategory[];
  readonly types?: readonly string[];
  /** Passed by a reader of this order, which has waited for every hole below: none of them can be filled any more. */
  readonly upTo?: number;
}
export interface Page {
  readonly events: readonly RecordedEvent[];
  /** Everything up to here has been seen, events of other categories included. */
  readonly position: number;
  readonly blocked: boolean;
}
interface PageRow {
  readonly global_position: string;
  readonly seq: string;
  /** As text: bytes would travel as hexadecimal digits. */
  readonly body: string | null;
  readonly xmin: string;
}
const pageText = `
  select e.global_position, e.seq, case when e.category = any ($3) and ($4::text[] is null or e.type = any ($4)) then convert_from(e.body, 'UTF8') end as body,
    (select pg_snapshot_xmin(pg_current_snapshot()))::text as xmin
  from ledger.events e
  where e.global_position > $1 and ($5::bigint is null or e.global_position <= $5)
  order by e.global_position
  limit $2`;
