import fs from 'node:fs';
import path from 'node:path';
import { readModelNames } from '@fluidbox/contracts';
import { until } from '@fluidbox/testing';
import { killPart } from './support/recovery/busy-run';
import type { SystemStack } from './support/stack';
import { runWire, startWireStack } from './support/wire-run';

describe('what is read and watched', () => {
  let stack: SystemStack;
  beforeAll(async () => {
    stack = await startWireStack();
  });
  afterAll(() => stack.stop());

  const get = (route: string, headers: Record<string, string> = {}) =>
    fetch(new URL(route, stack.up.public_url), { headers: { authorization: `Bearer ${stack.adminToken}`, ...headers } });
  const json = async <T>(route: string): Promise<T> => (await (await get(route)).json()) as T;
  const idsOf = (text: string): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));

  it('H-EV-02 · a stream is never silently started somewhere: behind the end 400, at the end of a run that is over 204', async () => {
    const { id, events } = await runWire(stack.admin, 'wire', { steps: [] });
    const stream = (lastEventId: string) => get(`/v1/sessions/${id}/events/stream`, { 'last-event-id': lastEventId });
    expect((await stream(String(events.length))).status).toBe(204);
    expect((await stream(String(events.length + 1))).status).toBe(400);
    expect((await stream('abc')).status).toBe(400);
    expect(idsOf(await (await stream('0')).text())).toEqual(events.map((event) => event.seq));
    // A text compare would take 9 for more than 12.
    expect(idsOf(await (await stream('9')).text())[0]).toBe(10);
  });

  it('[READ-2] shows a run as it stood after each of its events', async () => {
    const { id, events } = await runWire(stack.admin, 'wire', { steps: [] });
    const at = async (seq: number) =>
      (await json<{ session: { status: string; last_seq: number } }>(`/v1/sessions/${id}?at=${seq}`)).session;
    expect(await at(1)).toMatchObject({ status: 'created', last_seq: 1 });
    expect(await at(events.length)).toEqual(await stack.admin.session(id));
    expect((await get(`/v1/sessions/${id}?at=${events.length + 1}`)).status).toBe(400);
    expect((await get(`/v1/sessions/${id}?at=0`)).status).toBe(422);
  });

  it('[WATCH-2] ends an open stream with a word of its own when its token is revoked', async () => {
    const { token } = await stack.admin.createToken({ name: 'watching', role: 'approver' });
    const { session } = await stack.admin.createSession({ agent: 'wire', task: JSON.stringify({ steps: [{ sleepMs: 600_000 }] }) });
    const response = await get(`/v1/sessions/${session.id}/events/stream`, { authorization: `Bearer ${token}` });
    await stack.admin.revokeToken('watching');
    expect(await response.text()).toMatch(/event: end\ndata: \{"code":"unauthorized"/);
    await stack.admin.cancel(session.id);
  });

  it('[READ-1] [API-4] sums, lists and fills models anew, each for whom it is', async () => {
    await runWire(stack.admin, 'wire', { steps: [] });
    const before = await json<{ data: unknown[] }>('/v1/artifacts?kind=diff');
    expect(before.data.length).toBeGreaterThan(0);
    const member = (await stack.admin.createToken({ name: 'reader', role: 'member' })).token;
    for (const route of ['/v1/costs', '/v1/stats/gate', '/v1/read-models', '/v1/parked'])
      expect([route, (await get(route, { authorization: `Bearer ${member}` })).status, (await get(route)).status]).toEqual([
        route,
        403,
        200,
      ]);
    for (const name of readModelNames) {
      const asked = await stack.admin.rebuild(name);
      const wanted = asked.rebuilding?.version ?? asked.version;
      await until(async () =>
        (await stack.admin.readModels()).data.some((model) => model.name === name && model.version === wanted && model.rebuilding === null),
      );
    }
    expect(await json('/v1/artifacts?kind=diff')).toEqual(before);
    expect((await stack.admin.parked()).data).toEqual([]);
    await expect(stack.admin.replay('projector.read-models.1', 1)).rejects.toMatchObject({ status: 404 });
  });

  it('[BUS-1] loses nothing and doubles nothing when NATS is gone for a while, with its disk, under runs', async () => {
    const ask = { name: 'answer', as: 'tool', path: '/internal/sessions/{id}/permission' };
    const body = { tool_call_id: 'c1', tool: 'Bash', input: { command: "git commit -m 'x'" } };
    const task = JSON.stringify({ steps: [{ ...ask, body }] });
    const sessions = await Promise.all(Array.from({ length: 3 }, () => stack.admin.createSession({ agent: 'wire', task })));
    const seen = sessions.map(async ({ session }) => {
      const seqs: number[] = [];
      for await (const event of stack.admin.watch(session.id)) seqs.push(event.seq);
      return seqs;
    });
    const waiting = async () => {
      const { data } = await stack.admin.approvals();
      const found = data.filter(({ run_id }) => sessions.some(({ session }) => session.id === run_id));
      return found.length === sessions.length ? found : null;
    };
    const approvals = await until(waiting);
    const back = killPart(stack, 'nats');
    fs.rmSync(path.join(stack.home, 'nats/store'), { recursive: true, force: true });
    await back();
    for (const { id } of approvals) await stack.admin.decide(id, { decision: 'approve' });
    const watched = await Promise.all(seen);
    for (const [index, { session }] of sessions.entries()) {
      const run = await until(async () => {
        const found = await stack.admin.session(session.id);
        return found.outcome === null ? null : found;
      });
      expect(run).toMatchObject({ outcome: 'completed' });
      expect(watched[index]).toEqual(Array.from({ length: run.last_seq }, (_, i) => i + 1));
      const listed = async () => (await stack.admin.sessions({ limit: 50 })).data.find((each) => each.id === session.id);
      await until(async () => (await listed())?.last_seq === run.last_seq);
    }
  });
});
