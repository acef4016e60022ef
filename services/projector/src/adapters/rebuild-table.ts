import { type ReadModelName, ReadModelView } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import type { SqlPool } from '@fluidbox/service-kit';
import type { RebuildTable } from '../app/rebuild';
import { liveFollowerName, type ModelVersions, modelRevisions } from '../domain/read-models';

const rowsOf: Readonly<Record<ReadModelName, string>> = {
  runs: 'read.run_rows',
  approvals: 'read.approval_rows',
  artifacts: 'read.artifact_rows',
  costs: 'read.cost_rows',
  gate: 'read.gate_rows',
};
const droppedAtOnce = 5_000;

/** The live versions, held as they are until the end of the transaction: a switch waits for the page that is being written. */
export async function liveVersions(tx: SqlClient): Promise<ModelVersions> {
  const { rows } = await tx.query<{ name: ReadModelName; live: number }>('select name, live from read.models order by name for share');
  return new Map(rows.map(({ name, live }) => [name, live]));
}

/** Those that do not hold a parked event yet: a model that was filled anew since then has read it. */
export async function versionsWithout(tx: SqlClient, follower: string, position: number): Promise<ModelVersions> {
  const { rows } = await tx.query<{ name: ReadModelName; live: number }>(
    `select m.name, m.live from read.models m join ledger.parked p on p.name = $1 and p.global_position = $2
     where m.switched_at is null or m.switched_at < p.at order by m.name for share of m`,
    [follower, position],
  );
  return new Map(rows.map(({ name, live }) => [name, live]));
}

export const liveVersion = async (sql: SqlClient, name: ReadModelName): Promise<number> =>
  (await sql.query<{ live: number }>('select live from read.models where name = $1', [name])).rows[0]?.live ?? 0;

export function postgresRebuilds(sql: SqlPool): RebuildTable {
  return {
    async find(name) {
      const { rows } = await sql.query<{ version: number; position: string }>(
        'select version, position from read.rebuilds where name = $1',
        [name],
      );
      return rows[0] === undefined ? null : { version: rows[0].version, position: Number(rows[0].position) };
    },
    async moveOn(tx, name, from, to) {
      const { rowCount } = await tx.query('update read.rebuilds set position = $3, problem = null where name = $1 and position = $2', [
        name,
        from,
        to,
      ]);
      return rowCount === 1;
    },
    async lockModel(tx, name) {
      await tx.query('select from read.models where name = $1 for update', [name]);
    },
    async switchTo(tx, name, version, revision) {
      // clock_timestamp: an event that was parked while this waited for the lock is in the new version.
      await tx.query('update read.models set live = $2, revision = $3, switched_at = clock_timestamp() where name = $1', [
        name,
        version,
        revision,
      ]);
      await tx.query('delete from read.rebuilds where name = $1', [name]);
    },
    async livePosition(client = sql) {
      const { rows } = await client.query<{ position: string }>('select position from ledger.positions where name = $1', [
        liveFollowerName,
      ]);
      return Number(rows[0]?.position ?? 0);
    },
    async dropOldRows(name) {
      const table = rowsOf[name];
      const { rowCount } = await sql.query(
        `delete from ${table} where ctid = any (array(
           select ctid from ${table} where version < (select live from read.models where name = $1) limit ${droppedAtOnce}))`,
        [name],
      );
      return rowCount;
    },
    transaction: (work) =>
      sql.transaction(async (tx) => {
        // Rows and position are lost together if the server crashes before it flushed them, and made again.
        await tx.query('set local synchronous_commit = off');
        return work(tx);
      }),
  };
}

/** A version after the live one is to be filled; nothing changes when one is being filled already. */
export async function askForRebuild(sql: SqlClient, name: ReadModelName): Promise<void> {
  await sql.query(
    `insert into read.rebuilds (name, version) select name, live + 1 from read.models where name = $1
     on conflict (name) do update set problem = null`,
    [name],
  );
}

/** What an earlier process did not finish, and what an older revision of the code filled. */
export async function dueRebuilds(sql: SqlClient): Promise<ReadModelName[]> {
  const { rows } = await sql.query<{ name: ReadModelName; revision: number; filling: boolean }>(
    'select m.name, m.revision, r.name is not null as filling from read.models m left join read.rebuilds r using (name) order by m.name',
  );
  const due = rows.filter(({ name, revision, filling }) => filling || revision < modelRevisions[name]);
  for (const { name } of due) await askForRebuild(sql, name);
  return due.map(({ name }) => name);
}

export async function rebuildFailed(sql: SqlClient, name: ReadModelName, problem: string): Promise<void> {
  await sql.query('update read.rebuilds set problem = $2 where name = $1', [name, problem.replaceAll('\u0000', '\u2400').slice(0, 2_000)]);
}

export async function readModels(sql: SqlClient): Promise<ReadModelView[]> {
  const { rows } = await sql.query<{
    name: string;
    live: number;
    version: number | null;
    position: string | null;
    problem: string | null;
    started_at: Date | null;
    target: string;
  }>(
    `select m.name, m.live, r.version, r.position, r.problem, r.started_at,
       coalesce((select position from ledger.positions where name = $1), 0) as target
     from read.models m left join read.rebuilds r using (name) order by m.name`,
    [liveFollowerName],
  );
  return rows.map((row) =>
    ReadModelView.parse({
      name: row.name,
      version: row.live,
      rebuilding:
        row.version === null
          ? null
          : {
              version: row.version,
              position: Number(row.position),
              target: Number(row.target),
              started_at: row.started_at?.toISOString(),
              problem: row.problem,
            },
    }),
  );
}
