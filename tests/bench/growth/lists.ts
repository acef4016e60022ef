import { defaultBudgets, type SessionView } from '@fluidbox/contracts';
import { postgresReadModels } from '../../../services/gateway/src/adapters/read-models';
import { medianTime } from '../support/measure';
import { flat, type GrowthRow, type Point } from './row';

const runs = { toy: [100, 1_000], usual: [1_000, 10_000, 100_000], full: [1_000, 10_000, 100_000, 1_000_000] };
const id = '00000000-0000-7000-8000-000000000000';
const digest = `sha256:${'ab'.repeat(32)}`;
const view: SessionView = {
  id,
  agent: 'fixer',
  agent_revision: 1,
  harness: 'scripted',
  model: 'none',
  policy: 'default',
  policy_version: 1,
  status: 'completed',
  reason: 'runner_result',
  outcome: 'completed',
  coverage: 'full',
  autonomy: 'supervised',
  trust_tier: 'trusted',
  spec_digest: digest,
  budgets: defaultBudgets,
  invoked_by: 'ada',
  task: null,
  summary: null,
  usage: { input_tokens: 1, output_tokens: 1, cache_read_tokens: 0, cache_write_tokens: 0, cost_micro_usd: 1, model_requests: 1 },
  tool_calls: 1,
  pending_approvals: 0,
  last_seq: 9,
  created_at: '2026-01-01T00:00:00.000Z',
  started_at: null,
  finished_at: null,
  deadline_at: null,
};

/** The pages that people ask for: the newest runs, a page in the middle, one's own of a rare status. */
export const listGrowth: GrowthRow = {
  name: 'lists',
  what: 'milliseconds for three pages of 50 runs (newest, middle, own of a rare status), as archived runs grow',
  exponentMax: flat,
  async measure(servers, size) {
    const client = await servers.connect();
    const { sql } = await servers.context('gateway');
    const models = postgresReadModels(sql);
    const org = 'archive';
    const points: Point[] = [];
    let there = 0;
    for (const wanted of runs[size]) {
      await client.query(
        `insert into read.run_rows (version, run_id, org_id, invoked_by, agent, status, last_seq, view, created_at)
         select (select live from read.models where name = 'runs'), gen_random_uuid(), $1, case when n % 10 = 0 then 'ada' else 'bob' end, 'fixer',
           case when n % 997 = 0 then 'failed' else 'completed' end, 9, $2::jsonb, timestamptz '2026-01-01' + n * interval '1 s'
         from generate_series($3::int, $4::int) n`,
        [org, JSON.stringify(view), there + 1, wanted],
      );
      there = wanted;
      await client.query('vacuum analyze read.run_rows');
      const middle = { createdAt: new Date(Date.parse('2026-01-01T00:00:00Z') + (wanted / 2) * 1_000).toISOString(), id };
      const page = { org, invokedBy: null, status: null, before: null, limit: 50 };
      const pages = async (): Promise<void> => {
        const newest = await models.sessions(page);
        const older = await models.sessions({ ...page, before: middle });
        await models.sessions({ ...page, invokedBy: 'ada', status: 'failed' });
        if (newest.length !== 50 || older.length !== Math.min(50, wanted / 2 - 1)) throw new Error('a page is not whole');
      };
      await medianTime(100, pages);
      points.push({ size: wanted, cost: await medianTime(size === 'toy' ? 50 : 1_000, pages) });
    }
    await client.query('delete from read.run_rows where org_id = $1', [org]);
    return points;
  },
};
