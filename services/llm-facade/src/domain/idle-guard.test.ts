import { admit } from './admission';
import { idleGuard } from './idle-guard';
import { decided, type Given, live, now, requested } from './runs.fixture';

const answer = (n: number, more: object = {}): Given =>
  [
    'model.response',
    {
      reservation_id: `0198c0de-0000-7000-8000-0000000001${String(n).padStart(2, '0')}`,
      model: 'm',
      status: 200,
      stop_reason: 'tool_use',
      tool_calls: 1,
      input_tokens: 1,
      output_tokens: 1,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      cost_micro_usd: 1,
      estimated: false,
      agent_id: null,
      duration_ms: 1,
      ...more,
    },
  ] as Given;
const answers = (count: number): Given[] => Array.from({ length: count }, (_, n) => answer(n));

describe('the guard against model calls without progress', () => {
  it('says nothing below 80 % and nothing without a limit', () => {
    expect(idleGuard(live({}, ...answers(7)), 10)).toBeNull();
    expect(idleGuard(live({}, ...answers(50)), null)).toBeNull();
    expect(idleGuard(live(), 1)).toBeNull();
  });

  it('warns once, then ends the run before the next request', () => {
    expect(idleGuard(live({}, ...answers(8)), 10)).toMatchObject({ type: 'guard.warned', data: { count: 8, limit: 10 } });
    const warned: Given = ['guard.warned', { guard: 'idle_model_calls', count: 8, limit: 10 }];
    expect(idleGuard(live({}, ...answers(9), warned), 10)).toBeNull();
    expect(idleGuard(live({}, ...answers(10), warned), 10)).toMatchObject({ type: 'guard.tripped', data: { count: 10, limit: 10 } });
  });

  it('starts anew with each call that the gate decided and each answer that came to its end', () => {
    expect(idleGuard(live({}, ...answers(10), requested('c1'), decided('c1', 'deny')), 10)).toBeNull();
    expect(idleGuard(live({}, ...answers(10), answer(11, { stop_reason: 'end_turn', tool_calls: 0 })), 10)).toBeNull();
    expect(idleGuard(live({}, ...answers(10), answer(11, { stop_reason: 'max_tokens', tool_calls: 0 })), 10)).toMatchObject({
      type: 'guard.tripped',
    });
  });

  it('refuses the request and takes the run its model access; below the limit the request goes with the warning', () => {
    const request = {
      reservationId: '0198c0de-0000-7000-8000-000000000001',
      generation: 1,
      estimate: { tokens: 1, costMicroUsd: 0, inputTokens: 0 },
      idleMax: 5,
      now,
    };
    const tripped = admit(live({}, ...answers(5)), request);
    expect(tripped).toMatchObject({
      events: [{ type: 'guard.tripped' }],
      result: { kind: 'refused', refusal: { status: 403, retry: 'never' } },
    });
    const warned = admit(live({}, ...answers(4)), request);
    expect([warned.events.map(({ type }) => type), warned.result.kind]).toEqual([['guard.warned', 'budget.reserved'], 'admitted']);
  });
});
