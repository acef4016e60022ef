import type { SqlClient } from '@fluidbox/event-store';
import type { SqlPool } from '@fluidbox/service-kit';
import type { StoredUpstream, UpstreamTable } from '../app/ports';
import type { DialectId } from '../domain/dialect';
import { placed } from '../domain/upstream-order';

interface Row {
  name: string;
  position: number;
  base_url: string;
  sealed_key: Buffer;
  set_by: string;
  set_at: Date;
}

export function upstreamTable(sql: SqlPool): UpstreamTable {
  const list = async (client: SqlClient, org: string, dialect: DialectId): Promise<readonly StoredUpstream[]> => {
    const { rows } = await client.query<Row>(
      `select name, position, base_url, sealed_key, set_by, set_at from ledger.upstreams where org_id = $1 and dialect = $2 order by position`,
      [org, dialect],
    );
    return rows.map((row) => ({
      org,
      dialect,
      name: row.name,
      position: row.position,
      baseUrl: row.base_url,
      sealedKey: row.sealed_key,
      by: row.set_by,
      at: row.set_at,
    }));
  };
  /** Whoever changes a list changes it alone. */
  const alone = <T>(org: string, dialect: DialectId, work: (tx: SqlClient) => Promise<T>): Promise<T> =>
    sql.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`upstreams ${org} ${dialect}`]);
      return work(tx);
    });
  const renumber = (tx: SqlClient, org: string, dialect: DialectId, order: readonly string[]): Promise<unknown> =>
    tx.query(
      `update ledger.upstreams u set position = o.position from unnest($3::text[]) with ordinality as o (name, position)
       where u.org_id = $1 and u.dialect = $2 and u.name = o.name and u.position <> o.position`,
      [org, dialect, order],
    );
  return {
    list: (org, dialect) => list(sql, org, dialect),
    set: ({ org, dialect, name, baseUrl, sealedKey, by, at }, position) =>
      alone(org, dialect, async (tx) => {
        const before = (await list(tx, org, dialect)).map((upstream) => upstream.name);
        const order = placed(before, name, position);
        if (order === null) return null;
        const place = order.indexOf(name) + 1;
        await tx.query(
          `insert into ledger.upstreams (org_id, dialect, name, position, base_url, sealed_key, set_by, set_at) values ($1, $2, $3, $4, $5, $6, $7, $8)
           on conflict (org_id, dialect, name) do update set position = excluded.position, base_url = excluded.base_url,
             sealed_key = excluded.sealed_key, set_by = excluded.set_by, set_at = excluded.set_at`,
          [org, dialect, name, place, baseUrl, sealedKey, by, at],
        );
        await renumber(tx, org, dialect, order);
        await tx.query(
          `insert into ledger.upstream_changes (org_id, dialect, name, change, position, base_url, changed_by, changed_at)
           values ($1, $2, $3, 'set', $4, $5, $6, $7)`,
          [org, dialect, name, place, baseUrl, by, at],
        );
        return list(tx, org, dialect);
      }),
    remove: ({ org, dialect, name, by, at }) =>
      alone(org, dialect, async (tx) => {
        const { rowCount } = await tx.query('delete from ledger.upstreams where org_id = $1 and dialect = $2 and name = $3', [
          org,
          dialect,
          name,
        ]);
        if (rowCount === 0) return false;
        const left = await list(tx, org, dialect);
        await renumber(
          tx,
          org,
          dialect,
          left.map((upstream) => upstream.name),
        );
        await tx.query(
          `insert into ledger.upstream_changes (org_id, dialect, name, change, changed_by, changed_at) values ($1, $2, $3, 'removed', $4, $5)`,
          [org, dialect, name, by, at],
        );
        return true;
      }),
  };
}
