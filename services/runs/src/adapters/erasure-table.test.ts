import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type EventDraft, erasureStream, runStream, streamNameOf } from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createPostgresStore, type EventStore, FolderBlobStore } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';
import { sqlOf } from '@fluidbox/service-kit';
import { createdRun, type ServiceDatabase, startServiceDatabase } from '@fluidbox/testing';
import pg from 'pg';
import { eraseContent, sweepContent } from '../app/erase-content';
import type { Ports } from '../app/ports';
import { erasureTable } from './erasure-table';

const org = 'default';
const admin = { name: 'ada', role: 'admin', org } as const;
const draft = (type: string, data: Record<string, unknown>, sealed: { content?: unknown; projection?: unknown } = {}) =>
  ({ type, actor: 'service:runs', data, ...sealed }) as unknown as EventDraft;
const digest = `sha256:${'a'.repeat(64)}`;

describe('erasing content, as the role of runs', () => {
  let folder: string;
  let database: ServiceDatabase;
  let operator: pg.Pool;
  const stores: EventStore[] = [];
  const kek = kekFromBytes(randomBytes(32));
  let blobs: FolderBlobStore;

  beforeAll(async () => {
    database = await startServiceDatabase('runs');
    operator = new pg.Pool({ connectionString: database.url, max: 2 });
    folder = mkdtempSync(path.join(os.tmpdir(), 'erasure-'));
    blobs = new FolderBlobStore(folder);
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await operator.end();
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** One process of the service; `service` = whose events it may append. */
  function process(service: 'runs' | 'gate' = 'runs') {
    const store = createPostgresStore({ url: database.urlOf(service) });
    stores.push(store);
    const clock = { now: () => new Date() };
    const keyring = createKekKeyring({ store, kek, clock });
    const ledger = createLedger({ store, keyring, clock, ids: { uuid: () => crypto.randomUUID() }, service });
    return { ledger, store };
  }
  const portsOf = (ledger: Ports['ledger'], change: Partial<Ports> = {}): Ports =>
    ({ ledger, erasures: erasureTable(sqlOf(database.pool)), blobs, ...change }) as Ports;

  /** A run with content of both classes and a file; `ended` closes it. */
  async function run(options: { ended: boolean; asks?: boolean } = { ended: true }) {
    const { ledger, store } = process();
    const runId = crypto.randomUUID();
    const stream = runStream(runId, org);
    const keys = ledger.keyring.create(streamNameOf(stream));
    await ledger.decide(runFold, stream, () => ({
      events: [draft('session.created', createdRun(runId), { content: { task: 'the task', system_prompt: null } })],
      result: undefined,
      createKeys: keys,
    }));
    if (options.asks !== false)
      await process('gate').ledger.record(stream, [
        draft(
          'tool.requested',
          { tool_call_id: 'toolu_1', tool: 'Bash', input_digest: digest, generation: 1 },
          { content: { input: { command: 'ls' }, summary: 'ls' }, projection: { tool: 'Bash' } },
        ),
      ]);
    const source = (async function* () {
      yield Buffer.from('a diff');
    })();
    const { sha256 } = await blobs.put(runId, Buffer.from(keys.keys.exportRest().rest, 'base64'), source);
    if (options.ended)
      await ledger.decide(runFold, stream, () => ({
        events: [draft('session.status_changed', { from: 'finalizing', to: 'completed', reason: 'collected', outcome: 'completed' })],
        result: undefined,
        closes: true,
      }));
    const keysNow = async () => {
      const { rows } = await operator.query(
        'select projection is not null as projection, rest is not null as rest, salt is not null as salt from ledger.run_keys where stream = $1',
        [streamNameOf(stream)],
      );
      return rows[0] as { projection: boolean; rest: boolean; salt: boolean };
    };
    const rows = async (): Promise<number> =>
      Number((await operator.query('select count(*) from ledger.content where stream = $1', [streamNameOf(stream)])).rows[0]?.count);
    const record = async () =>
      (await store.read(erasureStream(runId, org))).map(({ actor, data }): Record<string, unknown> => ({ actor, ...data }));
    const expire = (keyClass: string) =>
      operator.query("update ledger.content set expires_at = now() - interval '1 minute' where stream = $1 and class = $2", [
        streamNameOf(stream),
        keyClass,
      ]);
    return { runId, ledger, stream, sha256, keysNow, rows, record, expire };
  }
  const request = (runId: string, principal: { name: string; role: 'admin' | 'approver'; org: string } = admin) =>
    ({ run_id: runId, org, principal }) as never;

  it('destroys keys, salt, sealed rows and files of one run, says so on its record once, and leaves ledger and others alone', async () => {
    const [erased, other] = [await run(), await run()];
    const before = await erased.ledger.store.readWithHashes(erased.stream);
    const answer = await eraseContent(portsOf(erased.ledger), request(erased.runId));
    expect(answer.erased_by).toBe('ada');
    expect(await eraseContent(portsOf(process().ledger), request(erased.runId, { ...admin, name: 'bo' }))).toEqual(answer);
    expect(await erased.keysNow()).toEqual({ projection: false, rest: false, salt: false });
    expect([await erased.rows(), await blobs.has(erased.runId, erased.sha256), existsSync(path.join(folder, erased.runId))]).toEqual([
      0,
      false,
      false,
    ]);
    expect(await erased.record()).toEqual([
      { actor: 'principal:ada', run_id: erased.runId, classes: ['projection', 'rest'], cause: 'requested', by: 'ada' },
    ]);
    expect(await erased.ledger.store.readWithHashes(erased.stream)).toEqual(before);
    expect(await process().ledger.content(erased.stream, 1, 'rest')).toBeNull();
    expect(await other.keysNow()).toEqual({ projection: true, rest: true, salt: true });
    expect([await other.rows(), await blobs.has(other.runId, other.sha256)]).toEqual([3, true]);
    expect(await process().ledger.content(other.stream, 1, 'rest')).toEqual({ task: 'the task', system_prompt: null });
  });

  it('is refused for a run that lives, one that is not there, and for anybody but an admin', async () => {
    const live = await run({ ended: false });
    await expect(eraseContent(portsOf(live.ledger), request(live.runId))).rejects.toMatchObject({ code: 'conflict' });
    await expect(eraseContent(portsOf(live.ledger), request(crypto.randomUUID()))).rejects.toMatchObject({ code: 'not_found' });
    const ended = await run();
    await expect(eraseContent(portsOf(ended.ledger), request(ended.runId, { ...admin, role: 'approver' }))).rejects.toMatchObject({
      code: 'forbidden',
    });
    expect([await live.keysNow(), await ended.keysNow()]).toEqual(Array(2).fill({ projection: true, rest: true, salt: true }));
  });

  it.each(['files', 'record', 'end'])('that stops before the %s is taken up again, and recorded once', async (step) => {
    const { runId, ledger, keysNow, record } = await run();
    const stops = (): never => {
      throw new Error('killed');
    };
    const table = erasureTable(sqlOf(database.pool));
    const broken: Partial<Ports> = {
      ...(step === 'files' ? { blobs: { remove: stops } } : {}),
      ...(step === 'end' ? { erasures: { ...table, done: stops } } : {}),
    };
    const ports = portsOf(step === 'record' ? { ...ledger, decide: stops } : ledger, broken);
    await expect(eraseContent(ports, request(runId))).rejects.toThrow('killed');
    expect((await keysNow()).rest).toBe(false);
    expect(await record()).toHaveLength(step === 'end' ? 1 : 0);
    await Promise.all([process(), process()].map((each) => sweepContent(portsOf(each.ledger), stops)));
    expect(await record()).toEqual([expect.objectContaining({ actor: 'principal:ada', cause: 'requested' })]);
    expect(await table.open({ runId })).toEqual([]);
    expect(existsSync(path.join(folder, runId))).toBe(false);
  });

  it('that cannot be done holds up no other, however many there are', async () => {
    const { runId, ledger, keysNow, record } = await run();
    const table = erasureTable(sqlOf(database.pool));
    const stuck = Array.from({ length: 101 }, () => crypto.randomUUID());
    for (const each of [...stuck, runId])
      await table.promise({ runId: each, org, classes: ['projection', 'rest'], cause: 'requested', by: 'ada' });
    const failed: string[] = [];
    const remove = (id: string) => (id === runId ? blobs.remove(id) : Promise.reject(new Error('no permission')));
    await sweepContent(portsOf(ledger, { blobs: { remove } }), (id) => void failed.push(id));
    expect(failed.toSorted()).toEqual(stuck.toSorted());
    expect([await keysNow(), await record()]).toEqual([{ projection: false, rest: false, salt: false }, [expect.anything()]]);
    await operator.query('delete from runs.erasures where run_id = any ($1)', [stuck]);
  });

  it('after its retention takes each class in its time, from runs that have ended only', async () => {
    const [old, live, quiet, young] = [await run(), await run({ ended: false }), await run({ ended: true, asks: false }), await run()];
    for (const each of [old, live, quiet]) await each.expire('rest');
    const failed: unknown[] = [];
    const sweep = () => sweepContent(portsOf(process().ledger), (_run, error) => void failed.push(error));
    await sweep();
    expect(await old.keysNow()).toEqual({ projection: true, rest: false, salt: true });
    expect(await live.keysNow()).toEqual({ projection: true, rest: true, salt: true });
    expect(await young.keysNow()).toEqual({ projection: true, rest: true, salt: true });
    // Nothing was sealed with its projection key, and the salt goes with the last one.
    expect(await quiet.keysNow()).toEqual({ projection: false, rest: false, salt: false });
    expect(await old.record()).toEqual([
      { actor: 'service:runs', run_id: old.runId, classes: ['rest'], cause: 'retention', by: 'retention' },
    ]);
    await old.expire('projection');
    await sweep();
    await sweep();
    expect(await old.keysNow()).toEqual({ projection: false, rest: false, salt: false });
    expect((await old.record()).map(({ classes }) => classes)).toEqual([['rest'], ['projection']]);
    expect(failed).toEqual([]);
  });
});
