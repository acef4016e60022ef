import { startTestPostgres } from '@fluidbox/testing';
import pg from 'pg';
import { groupOf, newRun } from '../fixtures/events';
import { testServiceUrl } from '../test-schema';
import { createPostgresStore } from './postgres-store';

it('takes no body for two events: a line break in one would bring in an event that its appender may not write', async () => {
  const postgres = await startTestPostgres();
  const { url } = await postgres.createDatabase({ migrated: true });
  const [gate, owner] = [testServiceUrl(url, 'gate'), url].map((connectionString) => new pg.Client({ connectionString }));
  if (gate === undefined || owner === undefined) throw new Error('no clients');
  await Promise.all([gate.connect(), owner.connect()]);
  const store = createPostgresStore({ url: testServiceUrl(url, 'runs') });
  const write = async (client: pg.Client, bodyOf: (foreign: string, own: string) => string) => {
    const run = newRun();
    const foreign = groupOf(run, 0).events[0]?.ledger.text() ?? '';
    const body = bodyOf(foreign, foreign.replace('"type":"lease.granted"', '"type":"tool.requested"'));
    await client.query(
      `insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash)
        select 'default', $1, 'run', 1, gen_random_uuid(), 'tool.requested', 1, 0, now(), 'x', b, sha256(b), '', '' from convert_to($2, 'UTF8') as b`,
      [`run-${run.id}`, body],
    );
    return run;
  };
  const honest = await write(gate, (_foreign, own) => own);
  expect((await store.read(honest)).map(({ seq, type }) => [seq, type])).toEqual([[1, 'tool.requested']]);
  const both = (foreign: string, own: string): string => `${foreign}\n${own}`;
  await expect(write(gate, both)).rejects.toThrow('policy "events_body_json"');
  // Whom no policy binds.
  const smuggled = await write(owner, both);
  await expect(store.read(smuggled)).rejects.toMatchObject({ code: 'internal' });
  await Promise.all([store.close(), gate.end(), owner.end()]);
  await postgres.stop();
});
