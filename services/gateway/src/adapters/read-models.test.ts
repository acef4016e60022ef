import { testServiceUrl } from '@fluidbox/event-store';
import { sqlOf } from '@fluidbox/service-kit';
import { startTestPostgres, type TestPostgres } from '@fluidbox/testing';
import pg from 'pg';
import { postgresReadModels } from './read-models';

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
});
