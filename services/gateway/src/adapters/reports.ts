import { type CostDimension, CostGroup, type GateDimension, GateGroup, ListedArtifact } from '@fluidbox/contracts';
import type { ServiceContext } from '@fluidbox/service-kit';
import type { Reports } from '../app/reports';
import { asOrganisation } from './read-models';

const day = "to_char(day, 'YYYY-MM-DD')";
const costKey: Readonly<Record<CostDimension, string>> = { agent: 'agent', model: 'model', day };
const gateKey: Readonly<Record<GateDimension, string>> = {
  tool: 'tool',
  source: 'source',
  rule: "policy || '@' || policy_version || '#' || rule",
  agent: 'agent',
  policy: 'policy',
  day,
};
const artifactsPage = `
  select id, run_id, kind, name, content_type, bytes, sha256, truncated, created_at from read.artifacts
  where org_id = $1 and ($2::text is null or invoked_by = $2) and ($3::text is null or kind = $3)
    and ($4::timestamptz is null or (created_at, id) < ($4::timestamptz, $5))
  order by created_at desc, id desc limit $6`;

/** Sums come as text from Postgres, whose bigint is larger than what a number holds exactly; these are far from it. */
const numbers = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, name === 'key' ? value : Number(value)]));

export function postgresReports(sql: ServiceContext['sql']): Reports {
  return {
    costs: ({ org, by, from, to, limit }) =>
      asOrganisation(sql, org, async (tx) => {
        const { rows } = await tx.query(
          `select ${costKey[by]} as key, sum(model_requests) as model_requests, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
             sum(cache_read_tokens) as cache_read_tokens, sum(cache_write_tokens) as cache_write_tokens, sum(cost_micro_usd) as cost_micro_usd
           from read.costs where org_id = $1 and day between $2::date and $3::date
           group by 1 order by ${by === 'day' ? 'key' : 'sum(cost_micro_usd) desc, key'} limit $4`,
          [org, from, to, limit],
        );
        return rows.map((row) => CostGroup.parse(numbers(row)));
      }),
    decisions: ({ org, by, from, to, limit }) =>
      asOrganisation(sql, org, async (tx) => {
        const counted = (verdict: string) => `coalesce(sum(calls) filter (where verdict = '${verdict}'), 0) as ${verdict}`;
        const { rows } = await tx.query(
          `select ${gateKey[by]} as key, ${counted('allow')}, ${counted('deny')}, ${counted('ask')}
           from read.gate where org_id = $1 and day between $2::date and $3::date ${by === 'rule' ? "and rule <> ''" : ''}
           group by 1 order by ${by === 'day' ? 'key' : 'sum(calls) desc, key'} limit $4`,
          [org, from, to, limit],
        );
        return rows.map((row) => GateGroup.parse(numbers(row)));
      }),
    artifacts: ({ org, invokedBy, kind, before, limit }) =>
      asOrganisation(sql, org, async (tx) => {
        const { rows } = await tx.query<{ created_at: Date; bytes: string }>(artifactsPage, [
          org,
          invokedBy,
          kind,
          before?.createdAt ?? null,
          before?.id ?? null,
          limit,
        ]);
        return rows.map((row) => ListedArtifact.parse({ ...row, bytes: Number(row.bytes), created_at: row.created_at.toISOString() }));
      }),
  };
}
