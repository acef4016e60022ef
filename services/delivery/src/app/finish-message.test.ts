import type { WebhookMessage } from '@fluidbox/contracts';
import { finishMessage } from './finish-message';
import type { Claimed } from './ports';

const run = '0198b3a0-0000-7000-8000-0000000000a1';
const stream = `run-${run}`;
const message: WebhookMessage = {
  type: 'run.result',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: {
    run_id: run,
    agent: 'fixer',
    outcome: 'completed',
    reason: 'runner_result',
    coverage: 'full',
    cost_micro_usd: 5,
    duration_ms: 7,
    diff_sha256: null,
    head: { stream, seq: 9, hash: 'a'.repeat(64), jws: null },
  },
};
const claimed: Claimed = {
  id: '0198b3a0-0000-7000-8000-0000000000c2',
  webhookId: '0198b3a0-0000-7000-8000-0000000000c1',
  type: 'run.result',
  attempt: 1,
  tries: 1,
  body: JSON.stringify(message),
  expiresAt: null,
  failing: false,
};

/** Signed when it is looked at for the nth time. */
function world(signedAt: number) {
  const [looks, waits]: [string[], number[]] = [[], []];
  const ports = {
    checkpointAt: async (of: string, seq: number) => (looks.push(`${of} ${seq}`) >= signedAt ? 'h.p.s' : null),
    wait: async (ms: number) => waits.push(ms),
  };
  return { ports, looks, waits };
}

describe('a result before its first attempt', () => {
  it('[WEBHOOK-8] waits for the checkpoint of its head and carries it', async () => {
    const { ports, looks, waits } = world(3);
    const body = await finishMessage(ports, claimed);
    expect(JSON.parse(body)).toEqual({ ...message, data: { ...message.data, head: { ...message.data.head, jws: 'h.p.s' } } });
    expect(looks).toEqual(Array(3).fill(`${stream} 9`));
    expect(waits).toEqual([5, 10]);
  });

  it('goes out unsigned when nobody signs for two seconds', async () => {
    const { ports, waits } = world(Number.POSITIVE_INFINITY);
    expect(await finishMessage(ports, claimed)).toBe(claimed.body);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(2_000);
  });

  it('keeps its bytes in every later attempt', async () => {
    const later = world(1);
    expect(await finishMessage(later.ports, { ...claimed, attempt: 2 })).toBe(claimed.body);
    expect(later.looks).toEqual([]);
  });

  it('is the only message that waits', async () => {
    const { ports, looks } = world(1);
    expect(await finishMessage(ports, { ...claimed, type: 'approval.requested', body: '{}' })).toBe('{}');
    expect(looks).toEqual([]);
  });
});
