import type { SystemStack } from './support/stack';
import { runWire, startWireStack } from './support/wire-run';

describe('the public API', () => {
  let stack: SystemStack;

  beforeAll(async () => {
    stack = await startWireStack();
  });
  afterAll(() => stack.stop());

  const raw = (method: string, route: string, body?: string, headers: Record<string, string> = {}) =>
    fetch(new URL(route, stack.up.public_url), {
      method,
      headers: {
        authorization: `Bearer ${stack.adminToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
  const task = JSON.stringify({ steps: [] });

  it.each([
    ['unknown key', { agent: 'wire', task, extra: 1 }, 'extra'],
    ['wrong type', { agent: 'wire', task: 7 }, '/task'],
    ['NUL', { agent: 'wire', task: 'a\u0000b' }, '/task'],
    ['lone surrogate', { agent: 'wire', task: 'a\ud800' }, '/task'],
    ['empty task', { agent: 'wire', task: ' ' }, '/task'],
    ['huge budget', { agent: 'wire', task, budgets: { max_tool_calls: 1e300 } }, '/budgets/max_tool_calls'],
    ['negative budget', { agent: 'wire', task, budgets: { max_cost_usd: -1 } }, '/budgets/max_cost_usd'],
    ['relative path', { agent: 'wire', task, workspace: { kind: 'local_copy', path: 'x' } }, '/workspace/path'],
    [
      'option as ref',
      { agent: 'wire', task, workspace: { kind: 'git_repository', clone_url: 'https://h/x', ref: '--upload-pack=x' } },
      '/workspace/ref',
    ],
    ['file url', { agent: 'wire', task, workspace: { kind: 'git_repository', clone_url: 'file:///etc' } }, '/workspace/clone_url'],
    ['unknown agent', { agent: 'nobody', task }, 'agent'],
  ])('[API-1] refuses %s and names it', async (_name, body, named) => {
    const before = (await stack.admin.sessions({ limit: 200 })).data.length;
    const response = await raw('POST', '/v1/sessions', JSON.stringify(body));
    const problem = (await response.json()) as Record<string, unknown>;
    expect(response.status).toBe(422);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(JSON.stringify(problem)).toContain(named);
    expect((await stack.admin.sessions({ limit: 200 })).data.length).toBe(before);
  });

  it.each([
    ['no token', {}, 401],
    ['wrong token', { authorization: 'Bearer fbx_pat_0' }, 401],
  ])('[API-4] refuses %s', async (_name, headers, status) => {
    const response = await fetch(new URL('/v1/sessions', stack.up.public_url), { headers });
    expect(response.status).toBe(status);
  });

  it('[API-1] refuses broken JSON, another media type and an oversized body', async () => {
    expect((await raw('POST', '/v1/sessions', '{"agent":')).status).toBe(400);
    expect((await raw('POST', '/v1/sessions', 'agent=wire', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await raw('POST', '/v1/sessions', JSON.stringify({ agent: 'wire', task: 'x'.repeat(1_100_000) }))).status).toBe(413);
    expect((await raw('GET', '/v1/sessions/not-a-run')).status).toBe(404);
    expect((await raw('GET', '/v1/sessions?limit=0')).status).toBe(422);
  });

  it.each([
    ['GET', '/v1/sessions?status=finished', '/status', 'awaiting_approval'],
    ['GET', '/v1/policies/default/proposals/no-id', '/id', 'as the list shows it'],
    ['POST', '/v1/webhooks/no-id/rotate', '/id', 'as the list shows it'],
    ['GET', '/v1/webhooks/no-id/deliveries', '/id', 'as the list shows it'],
  ])('[API-1] refuses %s %s, and says what it takes', async (method, route, named, takes) => {
    const response = await raw(method, route);
    expect(response.status).toBe(422);
    expect(((await response.json()) as { detail: string }).detail).toMatch(new RegExp(`^${named}: .*${takes}`));
  });

  it('[API-1] takes a status that runs have, and an id that nobody has', async () => {
    expect((await raw('GET', '/v1/sessions?status=completed')).status).toBe(200);
    expect((await raw('GET', '/v1/sessions?status=awaiting_approval')).status).toBe(200);
    const nobody = '0198b3a0-0000-7000-8000-000000000001';
    expect((await raw('GET', `/v1/policies/default/proposals/${nobody}`)).status).toBe(404);
    expect((await raw('GET', `/v1/webhooks/${nobody}/deliveries`)).status).toBe(404);
  });

  it('[API-2] answers a repeated Idempotency-Key with the first run and refuses another body', async () => {
    const first = await stack.admin.createSession({ agent: 'wire', task }, 'key-1');
    const again = await stack.admin.createSession({ agent: 'wire', task }, 'key-1');
    expect(again).toMatchObject({ replayed: true, session: { id: first.session.id } });
    await expect(
      stack.admin.createSession({ agent: 'wire', task: JSON.stringify({ steps: [], outcome: 'failed' }) }, 'key-1'),
    ).rejects.toMatchObject({ status: 422, code: 'idempotency_mismatch' });
    expect((await stack.admin.createSession({ agent: 'wire', task }, 'key-2')).session.id).not.toBe(first.session.id);
  });

  it('[API-3] resumes a stream after Last-Event-ID and ends it with the terminal event', async () => {
    const { id, events } = await runWire(stack.admin, 'wire', { steps: [] });
    const stream = await raw('GET', `/v1/sessions/${id}/events/stream`, undefined, { 'last-event-id': '3' });
    const ids = [...(await stream.text()).matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
    expect(ids).toEqual(events.map((event) => event.seq).filter((seq) => seq > 3));
    expect((await raw('GET', `/v1/sessions/${id}/events/stream`, undefined, { 'last-event-id': 'x' })).status).toBe(400);
  });

  it('lists runs page by page, newest first', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await stack.admin.sessions({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.data.map((run) => run.id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThanOrEqual(3);
  });

  it('[API-4] shows a member its own runs only', async () => {
    const member = stack.client((await stack.admin.createToken({ name: 'mo', role: 'member' })).token);
    const foreign = await stack.admin.createSession({ agent: 'wire', task });
    const own = await member.createSession({ agent: 'wire', task });
    await expect(member.session(foreign.session.id)).rejects.toMatchObject({ status: 404 });
    expect((await member.session(own.session.id)).id).toBe(own.session.id);
    await expect(member.createAgent({ name: 'mine' })).rejects.toMatchObject({ status: 403 });
  });
});
