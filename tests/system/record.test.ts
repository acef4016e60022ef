import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { EventView } from '@fluidbox/contracts';
import { redactionMark } from '@fluidbox/redaction';
import { until } from '@fluidbox/testing';
import { Client } from 'pg';
import { fluidbox, type SystemStack, startSystemStack } from './support/stack';
import { typesOf } from './support/wire-run';

const unique = (name: string): string => `${name}-${randomBytes(9).toString('hex')}`;

/** What must stand nowhere in the open. What looks like a secret must stand nowhere at all. */
const planted = {
  task: unique('task'),
  reply: unique('reply'),
  input: unique('input'),
  output: createHash('sha256').update('what the command prints').digest('hex'),
  secret: `ghp_${randomBytes(18).toString('hex')}`,
  providerKey: unique('provider-key'),
};
/** No secret, and a part of what a person is asked about: it stands in the key of the approval, in a reason and in what the agent is told. */
const telling = unique('customer');
const command = `echo ${planted.input} && printf 'what the command prints' | sha256sum`;

const policy = `
name: record
defaults: { tool_action: deny }
tools:
  - match: [Bash]
    action: allow
    shell: { allow: ["echo", "printf", "sha256sum"], ask: ["touch"], deny: ["env"], on_no_match: deny }
`;

describe('the record of a run', () => {
  const elsewhere = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-witness-'));
  let stack: SystemStack;
  let run: string;
  let events: EventView[];
  const bundle = (): string => path.join(stack.home, 'run.jsonl');
  const cli = (...args: string[]) => fluidbox(stack.home, args);
  const owner = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const password = fs.readFileSync(path.join(stack.home, 'postgres/superuser-password'), 'utf8');
    const client = new Client({ connectionString: `postgres://postgres:${password}@${stack.up.database_host}/fluidbox` });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };

  beforeAll(async () => {
    const bash = (text: string) => ({ name: 'Bash', input: { command: text, description: 'x' } });
    stack = await startSystemStack({
      mode: 'processes',
      script: {
        conversations: [
          { match: 'Wait for a person', steps: [{ tools: [bash('touch x')] }, { text: 'done' }] },
          {
            match: 'Ask for the rest of the run',
            steps: [
              { tools: [bash(`touch x > ${telling}.log`)] },
              { tools: [bash(`touch y > ${telling}.log`)] },
              { tools: [bash(`env ${telling}`)] },
              { text: 'done' },
            ],
          },
          {
            match: planted.task,
            steps: [
              { text: planted.reply, tools: [bash(command)] },
              { tools: [bash(`echo ${planted.secret}`), bash('env')] },
              { text: `${planted.reply} is done` },
            ],
          },
        ],
      },
      environment: {
        ANTHROPIC_API_KEY: planted.providerKey,
        FLUIDBOX_LOG_LEVEL: 'trace',
        FLUIDBOX_WITNESS_FILE: path.join(elsewhere, 'heads.jsonl'),
      },
    });
    await stack.admin.importPolicy('record', { source: policy });
    await stack.admin.createAgent({ name: 'recorded', policy: 'record' });
    const { session } = await stack.admin.createSession({ agent: 'recorded', task: `Please ${planted.task}.` });
    run = session.id;
    for await (const event of stack.admin.watch(run)) if (event.type === 'run.result') break;
    events = await stack.admin.allEvents(run);
  });
  afterAll(async () => {
    await stack.stop();
    fs.rmSync(elsewhere, { recursive: true });
  });

  /** Where any of these stands: in a row of any table (as text or as bytes), in a file of the stack (logs, streams, database, blobs), on its terminal. */
  async function placesOf(texts: Readonly<Record<string, string>>): Promise<string[]> {
    const found: string[] = [];
    const forms = Object.entries(texts).map(([name, text]) => ({
      name,
      text,
      hex: Buffer.from(text).toString('hex'),
      base64: Buffer.from(text).toString('base64').slice(0, -4),
    }));
    const tables = await owner(async (client) => {
      const { rows } = await client.query<{ name: string }>(
        `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
      );
      for (const { name } of rows) {
        for (const form of forms) {
          const { rows: hits } = await client.query<{ n: string }>(
            `select count(*) as n from ${name} t where position($1 in t::text) > 0 or position($2 in t::text) > 0 or position($3 in t::text) > 0`,
            [form.text, form.hex, form.base64],
          );
          if (hits[0]?.n !== '0') found.push(`${form.name} in table ${name}`);
        }
      }
      return rows.map(({ name }) => name);
    });
    expect(tables).toEqual(
      expect.arrayContaining(['ledger.events', 'ledger.content', 'ledger.documents', 'read.run_rows', 'runs.erasures']),
    );
    for (const entry of fs.readdirSync(stack.home, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = path.join(entry.parentPath, entry.name);
      const bytes = fs.readFileSync(file);
      for (const { name, text, base64 } of forms)
        if (bytes.includes(text) || bytes.includes(base64)) found.push(`${name} in ${path.relative(stack.home, file)}`);
    }
    for (const { name, text } of forms) if (stack.output().includes(text)) found.push(`${name} on the terminal`);
    return found;
  }

  it('[LEDGER-3] is sealed: what was asked, said and printed stands nowhere in the open, and model requests stand nowhere', async () => {
    // It all happened, and who may read it can.
    const asked = stack.model.requests.map((request) => JSON.stringify(request.body)).join('\n');
    for (const text of [planted.task, planted.reply, planted.input, planted.output]) expect(asked).toContain(text);
    const read = JSON.stringify(events);
    for (const text of [planted.task, planted.reply, planted.input]) expect(read).toContain(text);
    const { secret: _, providerKey: __, ...content } = planted;
    expect(await placesOf(content)).toEqual([]);
  });

  it('is searched where it is: a digest that stands in events is found in rows, in streams and in the files of both', async () => {
    const [created] = events;
    const places = await placesOf({ digest: String(created?.data.spec_digest) });
    expect(places).toEqual(expect.arrayContaining(['digest in table ledger.events', 'digest in table read.run_rows']));
    for (const folder of ['postgres', 'nats']) expect(places.filter((place) => place.startsWith(`digest in ${folder}/`))).not.toEqual([]);
  });

  it('[LEDGER-3] holds no secret, not even sealed: a mark stands in its place', async () => {
    const { secret, providerKey } = planted;
    const read = JSON.stringify(events);
    expect(read).not.toContain(secret);
    expect(read).toContain(`echo ${redactionMark}`);
    const places = await placesOf({ secret, providerKey });
    // Where `up` keeps the key for the one service that needs it, for as long as the environment gives it.
    expect(places).toEqual(['providerKey in secrets/anthropic-key']);
  });

  it('[LEDGER-1] is exported and verified by the keys of the deployment; a changed one names the event', async () => {
    await until(async () => (await cli('export', run, '-o', bundle())).stderr.includes('signed to its end'));
    const good = await cli('verify', bundle());
    expect(good).toMatchObject({ code: 0, stdout: expect.stringMatching(/^verified {2}run /) });
    const published = path.join(stack.home, 'published.json');
    fs.writeFileSync(published, await (await fetch(new URL('/v1/keys', stack.up.public_url))).text());
    expect((await fluidbox(stack.home, ['verify', bundle(), '--keys', published], { FLUIDBOX_HOME: '/nowhere' })).code).toBe(0);
    expect((await fluidbox(stack.home, ['verify', bundle()], { FLUIDBOX_HOME: '/nowhere' })).code).toBe(3);
    const witnessed = await cli('verify', bundle(), '--witness', path.join(elsewhere, 'heads.jsonl'));
    expect(witnessed).toMatchObject({ code: 0, stdout: expect.stringContaining(`witnessed to event ${events.length}`) });
    const denied = typesOf(events, 'tool.decision').find((event) => event.data.verdict === 'deny')?.seq ?? 0;
    const changed = path.join(stack.home, 'changed.jsonl');
    fs.writeFileSync(changed, fs.readFileSync(bundle(), 'utf8').replace('"verdict":"deny"', '"verdict":"allow"'));
    expect(await cli('verify', changed)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`event ${denied} is not what was recorded`),
    });
  });

  it('[LEDGER-1] of a live run is not complete, and cannot be erased', async () => {
    const { session } = await stack.admin.createSession({ agent: 'recorded', task: 'Wait for a person.' });
    for await (const event of stack.admin.watch(session.id)) if (event.type === 'approval.requested') break;
    const live = path.join(stack.home, 'live.jsonl');
    expect((await cli('export', session.id, '-o', live)).code).toBe(0);
    expect(await cli('verify', live)).toMatchObject({ code: 5, stdout: expect.stringContaining('NOT COMPLETE') });
    expect(await cli('erase', session.id, '--content')).toMatchObject({ code: 5, stderr: expect.stringContaining('cancel it') });
    await stack.admin.cancel(session.id);
    for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;
  });

  it('[LEDGER-2] outlives its content: erased for ever, on record, and as verifiable as before', async () => {
    const member = stack.client((await stack.admin.createToken({ name: 'mo', role: 'approver' })).token);
    await expect(member.erase(run)).rejects.toMatchObject({ status: 403 });
    const diff = typesOf(events, 'artifact.collected');
    expect(diff.length).toBeGreaterThan(0);
    expect(fs.readdirSync(path.join(stack.home, 'blobs', run)).length).toBeGreaterThan(0);
    expect(await cli('erase', run, '--content')).toMatchObject({ code: 0, stdout: expect.stringContaining('was erased at') });

    const after = await stack.admin.allEvents(run);
    expect(after.filter(({ content }) => content !== null)).toEqual([]);
    expect(after.map(({ hash, data }) => ({ hash, data }))).toEqual(events.map(({ hash, data }) => ({ hash, data })));
    const session = await stack.admin.session(run);
    expect(session).toMatchObject({ task: null, summary: null, content_erased_at: expect.any(String), outcome: 'completed' });
    const listed = (await stack.admin.sessions({ limit: 50 })).data.find(({ id }) => id === run);
    expect(listed?.content_erased_at).toEqual(expect.any(String));
    await expect(stack.admin.artifact(run, 'diff')).rejects.toMatchObject({ status: 404 });
    expect(fs.existsSync(path.join(stack.home, 'blobs', run))).toBe(false);
    const record = await fetch(new URL(`/v1/sessions/${run}/erasure`, stack.up.public_url), {
      headers: { authorization: `Bearer ${stack.adminToken}` },
    });
    expect(await record.json()).toMatchObject({
      data: [
        {
          seq: 1,
          type: 'content.erased',
          actor: 'principal:admin',
          data: { run_id: run, classes: ['projection', 'rest'], cause: 'requested' },
        },
      ],
    });
    const kept = await owner(
      async (client) => (await client.query('select * from ledger.run_keys where stream = $1', [`run-${run}`])).rows[0],
    );
    expect(kept).toMatchObject({ projection: null, rest: null, salt: null });

    const again = path.join(stack.home, 'again.jsonl');
    expect((await cli('export', run, '-o', again)).code).toBe(0);
    expect(fs.readFileSync(again).equals(fs.readFileSync(bundle()))).toBe(true);
    expect((await cli('verify', again)).code).toBe(0);
  });

  it('[LEDGER-5] leaves no word of a call behind: not in the key that a person approved for the rest of the run, not in a reason', async () => {
    const { session } = await stack.admin.createSession({ agent: 'recorded', task: 'Ask for the rest of the run.' });
    const waiting = await until(async () => (await stack.admin.approvals()).data.find(({ run_id }) => run_id === session.id));
    expect(waiting.scope_key).toContain(`> /workspace/${telling}.log`);
    expect((await cli('approvals')).stdout).toContain(`${telling}.log`);
    await stack.admin.decide(waiting.id, { decision: 'approve_session' });
    for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;

    const told = await stack.admin.allEvents(session.id);
    expect(typesOf(told, 'tool.decision').map(({ data, content }) => [data.source, data.verdict, content?.reason])).toEqual([
      ['approval', 'allow', 'approved by admin'],
      ['session_grant', 'allow', expect.stringContaining(telling)],
      ['policy', 'deny', expect.stringContaining(telling)],
    ]);
    expect(await placesOf({ telling })).toEqual([]);

    const recordOf = async (name: string): Promise<string> => {
      const file = path.join(stack.home, name);
      await until(async () => (await cli('export', session.id, '-o', file)).stderr.includes('signed to its end'));
      expect((await cli('verify', file)).code).toBe(0);
      return fs.readFileSync(file, 'utf8');
    };
    const before = await recordOf('asked.jsonl');
    expect((await cli('erase', session.id, '--content')).code).toBe(0);
    expect(await placesOf({ telling })).toEqual([]);
    expect(JSON.stringify(await stack.admin.allEvents(session.id))).not.toContain(telling);
    expect(await stack.admin.approval(waiting.id)).toMatchObject({ status: 'approved', scope_key: null, input: null, reason: null });
    expect(await recordOf('asked-again.jsonl')).toBe(before);
  });

  it('[LEDGER-1] stays verifiable after its key was replaced; new records are signed by the new one', async () => {
    expect(await cli('keys', 'rotate')).toMatchObject({ code: 1, stderr: expect.stringContaining('is held by process') });
    await stack.end('SIGTERM');
    const rotated = (await cli('keys', 'rotate')).stdout.trim();
    await stack.startAgain();
    const { session } = await stack.admin.createSession({ agent: 'recorded', task: `Please ${planted.task}.` });
    for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;
    const newer = path.join(stack.home, 'newer.jsonl');
    await until(async () => (await cli('export', session.id, '-o', newer)).stderr.includes('signed to its end'));
    expect(await cli('verify', newer)).toMatchObject({ code: 0, stdout: expect.stringContaining(rotated) });
    const old = await cli('verify', bundle());
    expect(old.code).toBe(0);
    expect(old.stdout).not.toContain(rotated);
    expect((await cli('verify', bundle(), '--signer', rotated)).code).toBe(1);
  });

  it('[LEDGER-1] shows what the owner of the database changed in it', async () => {
    await owner(async (client) => {
      await client.query('alter table ledger.events disable trigger all');
      const changed = 'replace(convert_from(body, \'UTF8\'), \'"verdict":"deny"\', \'"verdict":"allow"\')::text';
      await client.query(
        `update ledger.events set body = convert_to(${changed}, 'UTF8'), body_digest = sha256(convert_to(${changed}, 'UTF8')) where stream = $1 and type = 'tool.decision'`,
        [`run-${run}`],
      );
      await client.query('alter table ledger.events enable trigger all');
    });
    const forged = path.join(stack.home, 'forged.jsonl');
    expect((await cli('export', run, '-o', forged)).code).toBe(1);
    const denied = typesOf(events, 'tool.decision').find((event) => event.data.verdict === 'deny')?.seq ?? 0;
    expect(await cli('verify', forged)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`event ${denied} is not what was recorded`),
    });
  });
});
