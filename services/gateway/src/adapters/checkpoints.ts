import type { ServiceContext } from '@fluidbox/service-kit';

/** As its organisation: row-level security binds the gateway's role. */
export const postgresCheckpoints =
  (sql: ServiceContext['sql']) =>
  (org: string, stream: string): Promise<string[]> =>
    sql.transaction(async (tx) => {
      await tx.query("select set_config('fluidbox.org', $1, true)", [org]);
      const { rows } = await tx.query<{ jws: string }>(
        'select jws from ledger.checkpoints where org_id = $1 and stream = $2 order by seq',
        [org, stream],
      );
      return rows.map(({ jws }) => jws);
    });
