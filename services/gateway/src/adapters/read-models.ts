import { SessionView } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import type { ServiceContext } from '@fluidbox/service-kit';
import type { ReadModels } from '../app/ports';

const runsPage = `select view, (select rest_erased_at from ledger.run_keys k where k.stream = 'run-' || run_id) as erased_at from read.runs
  where org_id = $1 and ($2::text is null or invoked_by = $2) and ($3::text is null or status = $3)
    and ($4::timestamptz is null or (created_at, run_id) < ($4::timestamptz, $5::uuid))
  order by created_at desc, run_id desc limit $6`;
const approvalsPage = `select run_id, tool_call_id, requested_at from read.approvals a
  where org_id = $1 and status = 'pending' and ($2::timestamptz is null or (requested_at, approval_id) < ($2::timestamptz, $3))
    and ($5::text is null or exists (select from read.runs r where r.run_id = a.run_id and r.org_id = a.org_id and r.invoked_by = $5))
  order by requested_at desc, approval_id desc limit $4`;

/** Row-level security binds the gateway's role to what its transaction names. */
export const asOrganisation = <T>(sql: ServiceContext['sql'], org: string, work: (tx: SqlClient) => Promise<T>): Promise<T> =>
  sql.transaction(async (tx) => {
    await tx.query("select set_config('fluidbox.org', $1, true)", [org]);
    return work(tx);
  });

/** The projector's views, read as one organisation at a time. */
export function postgresReadModels(sql: ServiceContext['sql']): ReadModels {
  return {
    sessions: ({ org, invokedBy, status, before, limit }) =>
      asOrganisation(sql, org, async (tx) => {
        const { rows } = await tx.query<{ view: object; erased_at: Date | null }>(runsPage, [
          org,
          invokedBy,
          status,
          before?.createdAt ?? null,
          before?.id ?? null,
          limit,
        ]);
        return rows.map((row) => SessionView.parse({ ...row.view, content_erased_at: row.erased_at?.toISOString() ?? null }));
      }),
    pendingApprovals: ({ org, invokedBy, before, limit }) =>
      asOrganisation(sql, org, async (tx) => {
        const { rows } = await tx.query<{ run_id: string; tool_call_id: string; requested_at: Date }>(approvalsPage, [
          org,
          before?.createdAt ?? null,
          before?.id ?? null,
          limit,
          invokedBy,
        ]);
        return rows.map((row) => ({ runId: row.run_id, toolCallId: row.tool_call_id, requestedAt: row.requested_at.toISOString() }));
      }),
  };
}
