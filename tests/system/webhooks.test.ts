import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { WebhookWithSecret } from '@fluidbox/contracts';
import { until } from '@fluidbox/testing';
import { fluidbox, type SystemStack } from './support/stack';
import { runWire, startWireStack, typesOf } from './support/wire-run';

const ask = {
  name: 'answer',
  as: 'tool',
  path: '/internal/sessions/{id}/permission',
  body: { tool_call_id: 'c1', tool: 'Bash', input: { command: "git commit -m 'canary-input'" } },
};

interface Told {
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly message: { type: string; data: Record<string, unknown> };
}

/** As the README of delivery tells a receiver to do it. */
function verifies({ headers, body }: Told, secret: string): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const fresh = Math.abs(Date.now() / 1_000 - Number(headers['webhook-timestamp'])) < 300;
  return fresh && headers['webhook-signature'] === `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}

describe('webhooks', () => {
  let stack: SystemStack;
  let receiver: http.Server;
  let url: string;
  const told: Told[] = [];

  beforeAll(async () => {
    receiver = http.createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        told.push({ headers: request.headers, body, message: JSON.parse(body) });
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    url = `http://${host}/hooks?key=canary-path`;
    stack = await startWireStack({ FLUIDBOX_WEBHOOK_PRIVATE_HOSTS: host });
  });
  afterAll(async () => {
    await stack.stop();
    receiver.close();
    receiver.closeAllConnections();
  });
  const toldOf = (type: string): Promise<Told> => until(() => told.find(({ message }) => message.type === type));

  it('[WEBHOOK-1] [WEBHOOK-2] [WEBHOOK-7] [WEBHOOK-8] a person is told, the link decides nothing, their own token does, and the result carries the head', async () => {
    const added = await fluidbox(stack.home, ['webhook', 'add', url, '--json']);
    expect(added).toMatchObject({ code: 0 });
    const webhook = JSON.parse(added.stdout) as WebhookWithSecret;
    const approver = stack.client((await stack.admin.createToken({ name: 'ann', role: 'approver' })).token);
    const run = runWire(stack.admin, 'wire', { steps: [ask] });

    const waiting = await toldOf('approval.requested');
    expect(verifies(waiting, webhook.secret)).toBe(true);
    const { link, approval_id } = waiting.message.data as { link: string; approval_id: string };
    expect(link).toBe(`${stack.up.public_url}/approvals/${approval_id}`);

    // The link: the same page for everybody, nothing of the approval in it, and whatever is sent to it decides nothing.
    const page = await fetch(link);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const text = await page.text();
    expect(text).toContain(`fluidbox approve ${approval_id}`);
    expect(text).not.toMatch(/Bash|git commit|canary/);
    const another = link.replace(/apr_.*$/, 'apr_00000000-0000-4000-8000-000000000000_c1');
    expect((await (await fetch(another)).text()).replaceAll(/apr_[\w-]+_c1/g, 'ID')).toBe(text.replaceAll(/apr_[\w-]+_c1/g, 'ID'));
    for (const query of ['?decision=approve', '?token=x&approve=1']) expect((await fetch(`${link}${query}`)).status).toBe(200);
    for (const method of ['POST', 'PUT', 'DELETE']) expect((await fetch(link, { method })).status).toBe(404);
    expect((await fetch(`${stack.up.public_url}/approvals/apr_%3Cscript%3E`)).status).toBe(404);
    const withoutToken = await fetch(`${stack.up.public_url}/v1/approvals/${approval_id}/decision`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"decision":"approve"}',
    });
    expect(withoutToken.status).toBe(401);
    expect((await approver.approval(approval_id)).status).toBe('pending');

    expect((await approver.decide(approval_id, { decision: 'approve' })).approval.decided_by).toContain('ann');
    const { id, answers, events } = await run;
    expect(answers.answer?.text).toBe('{"decision":"allow"}');

    const result = await toldOf('run.result');
    expect(verifies(result, webhook.secret)).toBe(true);
    const last = events.at(-1);
    expect(last).toMatchObject({ type: 'run.result' });
    // The head in the hands of the receiver is that of the record which anybody may export and check later.
    expect(result.message.data).toMatchObject({
      run_id: id,
      agent: 'wire',
      outcome: 'completed',
      head: { stream: `run-${id}`, seq: last?.seq, hash: last?.hash, jws: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]{86}$/) },
    });
    const [bundle, heads] = [path.join(stack.home, 'bundle.jsonl'), path.join(stack.home, 'heads.jsonl')];
    fs.writeFileSync(heads, `${JSON.stringify(result.message.data.head)}\n`);
    expect(await fluidbox(stack.home, ['export', id, '-o', bundle])).toMatchObject({ code: 0 });
    expect(await fluidbox(stack.home, ['verify', bundle, '--witness', heads])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`witnessed to event ${last?.seq}`),
    });
    expect(typesOf(events, 'approval.decided')).toHaveLength(1);
    expect(told.map(({ body }) => body).join()).not.toContain('canary');
    expect(stack.output()).not.toContain('canary-path');
  });

  it('are tested, listed and removed by the command line', async () => {
    const cli = (...args: string[]) => fluidbox(stack.home, ['webhook', ...args]);
    const refused = await cli('add', 'https://169.254.169.254/');
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('/url');
    const { id } = JSON.parse((await cli('list', '--json')).stdout)[0];
    expect(await cli('test', id)).toMatchObject({ code: 0, stdout: expect.stringContaining('the receiver answered 204') });
    const [delivery] = JSON.parse((await cli('deliveries', id, '--json')).stdout);
    expect(delivery).toMatchObject({ type: 'webhook.test', state: 'delivered', attempts: 1 });
    const before = told.length;
    expect(await cli('redeliver', id, delivery.id)).toMatchObject({ code: 0 });
    expect(told[before]?.headers['webhook-id']).toBe(delivery.id);
    const member = stack.client((await stack.admin.createToken({ name: 'mia', role: 'member' })).token);
    await expect(member.webhooks()).rejects.toMatchObject({ status: 403 });
    expect(await cli('remove', id)).toMatchObject({ code: 0 });
    expect(JSON.parse((await cli('list', '--json')).stdout)).toEqual([]);
    expect((await cli('test', id)).code).toBe(4);
  });
});
