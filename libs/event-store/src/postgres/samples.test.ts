import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { isEventType, runStream, versionOf } from '@fluidbox/contracts';
import { canonicalJson } from '@fluidbox/redaction';
import { startTestPostgres, type TestPostgres } from '@fluidbox/testing';
import pg from 'pg';
import type { EventStore } from '../api';
import { testServiceUrl } from '../test-schema';
import { createPostgresStore } from './postgres-store';

interface Sample {
  readonly type: string;
  readonly version: number;
  readonly data: Record<string, unknown>;
}
const folder = path.join(__dirname, '../../../../tests/architecture/event-samples');
const samples = fs
  .readdirSync(folder)
  .sort()
  .map((file) => JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')) as Sample);
/** What a newer fluidbox may write beside us while its processes replace ours one by one. */
const newer: readonly Sample[] = [
  { type: 'run.dreamt', version: 1, data: { of: 'sheep' } },
  { type: 'run.error', version: 99, data: { reasons: ['several'] } },
];

describe('whatever was stored once is read for ever', () => {
  let postgres: TestPostgres;
  let store: EventStore;
  let owner: pg.Client;
  const stream = runStream(randomUUID(), 'default');
  const stored = [...samples, ...newer];
  beforeAll(async () => {
    postgres = await startTestPostgres();
    const { url } = await postgres.createDatabase({ migrated: true });
    owner = new pg.Client({ connectionString: url });
    await owner.connect();
    for (const [index, sample] of stored.entries()) {
      const body = {
        event_id: randomUUID(),
        org: 'default',
        stream: `run-${stream.id}`,
        type: sample.type,
        version: sample.version,
        actor: 'service:test',
        occurred_at: '2026-01-05T10:00:00.000Z',
        data: sample.data,
      };
      const bytes = Buffer.from(canonicalJson(body));
      await owner.query(
        `insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash)
         values ('default', $1, 'run', $2, $3, $4, $5, 0, $6, 'service:test', $7, $8, $9, $9)`,
        [
          body.stream,
          index + 1,
          body.event_id,
          body.type,
          body.version,
          body.occurred_at,
          bytes,
          createHash('sha256').update(bytes).digest(),
          Buffer.alloc(32),
        ],
      );
    }
    store = createPostgresStore({ url: testServiceUrl(url, 'runs') });
  });
  afterAll(async () => {
    await Promise.all([store.close(), owner.end()]);
    await postgres.stop();
  });

  it('by every reader, each event in the version of today', async () => {
    const readers = {
      read: await store.read(stream),
      readWithHashes: await store.readWithHashes(stream),
      readSealed: await store.readSealed(stream),
      scan: (await store.scan({ after: 0, limit: 1_000, categories: ['run'] })).events,
    };
    for (const [name, events] of Object.entries(readers)) {
      expect([name, events.map(({ type }) => type)]).toEqual([name, stored.map(({ type }) => type)]);
      for (const [index, event] of events.slice(0, samples.length).entries()) {
        const sample = samples[index];
        if (!isEventType(event.type)) throw new Error(`${event.type}: a type that was stored once must stay known`);
        expect(event.version).toBe(versionOf(event.type));
        if (sample?.version === event.version) expect(event.data).toEqual(sample.data);
      }
    }
  });

  it('and what is newer than this code is given as it was stored, never dropped', async () => {
    const events = (await store.readSealed(stream, { after: samples.length })).map(({ type, version, data }) => ({ type, version, data }));
    expect(events).toEqual(newer);
    // What the chain covers stays what was written.
    const [first] = await store.readWithHashes(stream, { after: samples.length, limit: 1 });
    expect(JSON.parse(first?.body ?? '')).toMatchObject({ type: 'run.dreamt', data: { of: 'sheep' } });
  });
});
