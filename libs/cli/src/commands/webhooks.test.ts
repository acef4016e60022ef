import type { DeliveryView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { paintFor } from '../paint';
import { addWebhookCommand, testWebhookCommand } from './webhooks';

const delivery: DeliveryView = {
  id: '0198b3a0-0000-7000-8000-0000000000c2',
  webhook_id: '0198b3a0-0000-7000-8000-0000000000c1',
  type: 'webhook.test',
  run_id: null,
  state: 'pending',
  attempts: 0,
  last_status: null,
  reason: null,
  next_attempt_at: '2026-01-01T00:00:00.000Z',
  created_at: '2026-01-01T00:00:00.000Z',
  settled_at: null,
};

function captured(json = false) {
  const [out, err]: [string[], string[]] = [[], []];
  const paint = paintFor({ isTTY: false }, {});
  return { out, err, output: { json, paint, out: (text: string) => void out.push(text), err: (text: string) => void err.push(text) } };
}
const apiOf = (looks: Partial<DeliveryView>[]): ApiClient =>
  ({
    testWebhook: async () => delivery,
    deliveries: async () => ({ data: [{ ...delivery, ...(looks.length > 1 ? looks.shift() : looks[0]) }] }),
  }) as unknown as ApiClient;

describe('webhook commands', () => {
  it('print the secret alone on stdout, so that a script can keep it', async () => {
    const { out, err, output } = captured();
    const asked: unknown[] = [];
    const api = {
      createWebhook: async (body: unknown) => {
        asked.push(body);
        return { id: 'w', events: ['run.result'], secret: 'whsec_x' };
      },
    } as unknown as ApiClient;
    expect(await addWebhookCommand(api, { url: 'https://h/', event: ['run.result'] }, output)).toBe(0);
    expect(asked).toEqual([{ url: 'https://h/', events: ['run.result'] }]);
    expect(out).toEqual(['whsec_x']);
    expect(err.join()).not.toContain('whsec_');
  });

  it('wait for what came of the first attempt, and say it', async () => {
    const { out, output } = captured();
    const api = apiOf([{}, { state: 'delivered', attempts: 1, last_status: 204, next_attempt_at: null }]);
    expect(await testWebhookCommand(api, 'w', output)).toBe(0);
    expect(out).toEqual([`delivered ${delivery.id}: the receiver answered 204`]);
  });

  it('fail with the reason when it was not delivered', async () => {
    const api = apiOf([{ attempts: 1, reason: 'refused_status', last_status: 500 }]);
    await expect(testWebhookCommand(api, 'w', captured().output)).rejects.toThrow(/is pending: 500 \(refused_status\); next attempt 2026/);
    const { out, output } = captured(true);
    await expect(testWebhookCommand(api, 'w', output)).rejects.toThrow('');
    expect(JSON.parse(out[0] ?? '')).toMatchObject({ reason: 'refused_status' });
  });
});
