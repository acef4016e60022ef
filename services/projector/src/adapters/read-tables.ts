import { ApprovalView } from '@fluidbox/contracts';
import type { ReadTables } from '../app/project-page';

/** Arrays of one column each: one statement per table and page. `version`: of the model, that these rows belong to. */
export const postgresReadTables: ReadTables = {
  async saveRuns(tx, version, rows) {
    if (rows.length === 0) return;
    await tx.query(
      `insert into read.run_rows as r (version, run_id, org_id, invoked_by, agent, status, last_seq, summary_seq, created_at, view)
       select $1, u.* from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::timestamptz[], $10::jsonb[]) as u
       on conflict (version, run_id) do update
         set status = excluded.status, last_seq = excluded.last_seq, summary_seq = excluded.summary_seq, view = excluded.view
         where r.last_seq < excluded.last_seq`,
      [
        version,
        rows.map((row) => row.runId),
        rows.map((row) => row.org),
        rows.map((row) => row.invokedBy),
        rows.map((row) => row.agent),
        rows.map((row) => row.status),
        rows.map((row) => row.lastSeq),
        rows.map((row) => row.summarySeq),
        rows.map((row) => row.createdAt),
        rows.map((row) => JSON.stringify(row.view)),
      ],
    );
  },

  async loadApprovals(tx, version, ids) {
    const { rows } = await tx.query<{ approval_id: string; view: unknown }>(
      'select approval_id, view from read.approval_rows where version = $1 and approval_id = any ($2) for update',
      [version, ids],
    );
    return new Map(rows.map((row) => [row.approval_id, ApprovalView.parse(row.view)]));
  },

  async saveApprovals(tx, version, rows) {
    if (rows.length === 0) return;
    await tx.query(
      `insert into read.approval_rows (version, approval_id, run_id, org_id, tool_call_id, status, requested_at, expires_at, view)
       select $1, u.* from unnest($2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[], $9::jsonb[]) as u
       on conflict (version, approval_id) do update set status = excluded.status, view = excluded.view`,
      [
        version,
        rows.map(({ view }) => view.id),
        rows.map(({ view }) => view.run_id),
        rows.map(({ org }) => org),
        rows.map(({ view }) => view.tool_call_id),
        rows.map(({ view }) => view.status),
        rows.map(({ view }) => view.requested_at),
        rows.map(({ view }) => view.expires_at),
        rows.map(({ view }) => JSON.stringify(view)),
      ],
    );
  },

  async saveArtifacts(tx, version, rows) {
    if (rows.length === 0) return;
    await tx.query(
      `insert into read.artifact_rows (version, id, run_id, org_id, kind, name, content_type, bytes, sha256, truncated, created_at, invoked_by)
       select $1, u.* from unnest($2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::boolean[], $11::timestamptz[], $12::text[]) as u
       on conflict (version, id) do nothing`,
      [
        version,
        rows.map((row) => row.id),
        rows.map((row) => row.runId),
        rows.map((row) => row.org),
        rows.map((row) => row.kind),
        rows.map((row) => row.name),
        rows.map((row) => row.content_type),
        rows.map((row) => row.bytes),
        rows.map((row) => row.sha256),
        rows.map((row) => row.truncated),
        rows.map((row) => row.created_at),
        rows.map((row) => row.invokedBy),
      ],
    );
  },

  async addCosts(tx, version, deltas) {
    if (deltas.length === 0) return;
    await tx.query(
      `insert into read.cost_rows as c
         (version, org_id, agent, model, day, model_requests, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_micro_usd)
       select $1, u.* from unnest($2::text[], $3::text[], $4::text[], $5::date[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[]) as u
       on conflict (version, org_id, agent, model, day) do update
         set model_requests = c.model_requests + excluded.model_requests, input_tokens = c.input_tokens + excluded.input_tokens,
           output_tokens = c.output_tokens + excluded.output_tokens, cache_read_tokens = c.cache_read_tokens + excluded.cache_read_tokens,
           cache_write_tokens = c.cache_write_tokens + excluded.cache_write_tokens, cost_micro_usd = c.cost_micro_usd + excluded.cost_micro_usd`,
      [
        version,
        deltas.map((delta) => delta.org),
        deltas.map((delta) => delta.agent),
        deltas.map((delta) => delta.model),
        deltas.map((delta) => delta.day),
        deltas.map((delta) => delta.modelRequests),
        deltas.map((delta) => delta.inputTokens),
        deltas.map((delta) => delta.outputTokens),
        deltas.map((delta) => delta.cacheReadTokens),
        deltas.map((delta) => delta.cacheWriteTokens),
        deltas.map((delta) => delta.costMicroUsd),
      ],
    );
  },

  async addDecisions(tx, version, deltas) {
    if (deltas.length === 0) return;
    await tx.query(
      `insert into read.gate_rows as g (version, org_id, day, agent, policy, policy_version, tool, verdict, source, rule, calls)
       select $1, u.* from unnest($2::text[], $3::date[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[]) as u
       on conflict (version, org_id, day, agent, policy, policy_version, tool, verdict, source, rule) do update set calls = g.calls + excluded.calls`,
      [
        version,
        deltas.map((delta) => delta.org),
        deltas.map((delta) => delta.day),
        deltas.map((delta) => delta.agent),
        deltas.map((delta) => delta.policy),
        deltas.map((delta) => delta.policyVersion),
        deltas.map((delta) => delta.tool),
        deltas.map((delta) => delta.verdict),
        deltas.map((delta) => delta.source),
        deltas.map((delta) => delta.rule),
        deltas.map((delta) => delta.calls),
      ],
    );
  },
};
