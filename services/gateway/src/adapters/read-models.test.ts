import { testServiceUrl } from '@fluidbox/event-store';
import { sqlOf } from '@fluidbox/service-kit';
import { startTestPostgres, type TestPostgres } from '@fluidbox/testing';
import pg from 'pg';
import { postgresReadModels } from './read-models';
import { postgresReports } from './reports';

const [ofAnn, ofBob] = ['0198b3a0-0000-7000-8000-00000000000a', '0198b3a0-0000-7000-8000-00000000000b'];

describe('lists, read as the role of the gateway', () => {
  let postgres: TestPostgres;
  let pool: pg.Pool;
  beforeAll(async () => {
    postgres = await startTestPostgres();
    const { url } = await postgres.createDatabase({ migrated: true });
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    for (const [run, invokedBy, org] of [
      [ofAnn, 'ann', 'default'],
      [ofBob, 'bob', 'default'],
    ]) {
      await owner.query(
        `insert into read.run_rows (version, run_id, org_id, invoked_by, agent, status, last_seq, view, created_at)
         values (1, $1, $2, $3, 'fixer', 'running', 3, '{}', now())`,
        [run, org, invokedBy],
      );
      await owner.query(
        `insert into read.approval_rows (version, approval_id, run_id, org_id, tool_call_id, status, requested_at, expires_at, view)
         values (1, 'apr_' || $1::text || '_c1', $1::uuid, $2, 'c1', 'pending', now(), now() + interval '1 hour', '{}')`,
        [run, org],
      );
    }
    for (const [org, agent, day, cost] of [
      ['default', 'fixer', '2026-03-01', 10],
      ['default', 'fixer', '2026-03-02', 5],
      ['default', 'tester', '2026-03-02', 30],
      ['other', 'fixer', '2026-03-02', 1_000],
    ]) {
      await owner.query("insert into read.cost_rows values (1, $1, $2, 'm', $3, 1, 100, 20, 0, 0, $4)", [org, agent, day, cost]);
      // A version that is being filled is not shown.
      await owner.query("insert into read.cost_rows values (2, $1, $2, 'm', $3, 1, 100, 20, 0, 0, $4)", [org, agent, day, cost]);
    }
    for (const [verdict, source, rule, calls] of [
      ['allow', 'policy', '3', 7],
      ['ask', 'policy', '4', 2],
      ['allow', 'approval', '', 1],
      ['deny', 'budget', '', 1],
    ])
      await owner.query("insert into read.gate_rows values (1, 'default', '2026-03-02', 'fixer', 'strict', 2, 'Bash', $1, $2, $3, $4)", [
        verdict,
        source,
        rule,
        calls,
      ]);
    for (const [index, [run, invokedBy]] of [
      [ofAnn, 'ann'],
      [ofBob, 'bob'],
    ].entries())
      await owner.query(
        `insert into read.artifact_rows (version, id, run_id, org_id, kind, name, content_type, bytes, sha256, truncated, created_at, invoked_by)
         values (1, 'art_' || $3::text, $1, 'default', 'diff', 'changes.diff', 'text/x-diff', 5, $4, false, timestamptz '2026-03-02T00:00:00Z' + $5 * interval '1 s', $2)`,
        [run, invokedBy, invokedBy, `sha256:${'a'.repeat(64)}`, index],
      );
    await owner.end();
    pool = new pg.Pool({ connectionString: testServiceUrl(url, 'gateway'), max: 2 });
  });
  afterAll(async () => {
    await pool.end();
    await postgres.stop();
  });

  it('name the approvals of the runs that a member started, and all of them to who may see all', async () => {
    const pending = async (invokedBy: string | null, org = 'default') =>
      (await postgresReadModels(sqlOf(pool)).pendingApprovals({ org, invokedBy, before: null, limit: 10 })).map((row) => row.runId).sort();
    expect(await pending('ann')).toEqual([ofAnn]);
    expect(await pending('eve')).toEqual([]);
    expect(await pending(null)).toEqual([ofAnn, ofBob]);
    expect(await pending(null, 'other')).toEqual([]);
  });

  it('sum costs and decisions of one organisation and period, largest first', async () => {
    const reports = postgresReports(sqlOf(pool));
    const march = { org: 'default', from: '2026-03-01', to: '2026-03-31', limit: 10 };
    const costs = (by: 'agent' | 'day', more = {}) =>
      reports.costs({ ...march, by, ...more }).then((rows) => rows.map((row) => [row.key, row.cost_micro_usd, row.model_requests]));
    expect(await costs('agent')).toEqual([
      ['tester', 30, 1],
      ['fixer', 15, 2],
    ]);
    expect(await costs('day')).toEqual([
      ['2026-03-01', 10, 1],
      ['2026-03-02', 35, 2],
    ]);
    expect(await costs('agent', { from: '2026-03-02' })).toEqual([
      ['tester', 30, 1],
      ['fixer', 5, 1],
    ]);
    expect(await costs('agent', { limit: 1 })).toHaveLength(1);
    const decisions = (by: 'tool' | 'rule' | 'source') => reports.decisions({ ...march, by });
    expect(await decisions('tool')).toEqual([{ key: 'Bash', allow: 8, deny: 1, ask: 2 }]);
    expect(await decisions('rule')).toEqual([
      { key: 'strict@2#3', allow: 7, deny: 0, ask: 0 },
      { key: 'strict@2#4', allow: 0, deny: 0, ask: 2 },
    ]);
    expect((await decisions('source')).map((group) => group.key)).toEqual(['policy', 'approval', 'budget']);
    expect(await reports.decisions({ ...march, org: 'other', by: 'tool' })).toEqual([]);
  });

  it('list artifacts by pages, a member’s own only', async () => {
    const artifacts = async (invokedBy: string | null, before: { createdAt: string; id: string } | null = null) =>
      (await postgresReports(sqlOf(pool)).artifacts({ org: 'default', invokedBy, kind: 'diff', before, limit: 1 })).map((row) => row.id);
    expect(await artifacts(null)).toEqual(['art_bob']);
    expect(await artifacts(null, { createdAt: '2026-03-02T00:00:01.000Z', id: 'art_bob' })).toEqual(['art_ann']);
    expect(await artifacts(null, { createdAt: '2026-03-02T00:00:00.000Z', id: 'art_ann' })).toEqual([]);
    expect(await artifacts('ann')).toEqual(['art_ann']);
    expect(await artifacts('eve')).toEqual([]);
  });
});
