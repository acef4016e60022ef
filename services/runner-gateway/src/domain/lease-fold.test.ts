import { runStream } from '@fluidbox/contracts';
import { evolveRun, initialRun, leaseRefusal } from '@fluidbox/run-stream';
import { createdRun, recorded } from '@fluidbox/testing';
import { leaseFold } from './lease-fold';

const runId = '0198b3a0-0000-7000-8000-000000000002';
const digest = `sha256:${'a'.repeat(64)}`;

describe('what tokens are admitted by', () => {
  it('is what the fold of the whole run says, without its calls', () => {
    const events = recorded(runStream(runId, 'default'), [
      { type: 'session.created', actor: 'service:runs', data: createdRun(runId) },
      { type: 'lease.granted', actor: 'service:runs', data: { generation: 1, valid_until: '2026-01-01T00:15:00.000Z' } },
      { type: 'tool.requested', actor: 'runner', data: { tool_call_id: 'a', tool: 'Bash', input_digest: digest, generation: 1 } },
      { type: 'lease.granted', actor: 'service:runs', data: { generation: 2, valid_until: '2026-01-01T00:30:00.000Z' } },
      { type: 'tool.requested', actor: 'runner', data: { tool_call_id: 'b', tool: 'Bash', input_digest: digest, generation: 2 } },
    ]);
    const whole = events.reduce(evolveRun, initialRun());
    const lease = events.reduce(leaseFold.evolve, leaseFold.initial());
    expect([lease.runId, lease.generation, lease.leaseValidUntil, lease.version]).toEqual([
      whole.runId,
      whole.generation,
      whole.leaseValidUntil,
      whole.version,
    ]);
    for (const generation of [1, 2])
      for (const now of [0, Date.parse('2026-01-01T01:00:00.000Z')])
        expect(leaseRefusal(lease, generation, now)).toBe(leaseRefusal(whole, generation, now));
    expect([whole.calls.size, lease.calls.size]).toEqual([2, 0]);
  });
});
