import type { LogMessage } from '@fluidbox/contracts';
import { WakeUps } from './wake-ups';

const message = (
  events: readonly { type: string; data?: object }[] | null,
  id = 'run-1',
  category: LogMessage['category'] = 'run',
): LogMessage => ({
  stream: `run-${id}`,
  category,
  org: 'default',
  id,
  firstSeq: 1,
  lastSeq: events?.length ?? 1,
  generation: 1,
  events:
    events === null ? null : events.map((event, index) => ({ seq: index + 1, globalPosition: index + 1, body: JSON.stringify(event) })),
});
const decided = (id: string) => ({ type: 'tool.decision', data: { tool_call_id: id } });

describe('waking parked calls', () => {
  function watching() {
    const woken: string[] = [];
    const wakeUps = new WakeUps();
    const end = ['a', 'b', 'a'].map((call) => {
      const waiter = { ring: () => void woken.push(call) };
      wakeUps.watch('run-1', call, waiter);
      return () => wakeUps.unwatch('run-1', call, waiter);
    });
    wakeUps.watch('run-2', 'a', { ring: () => void woken.push('other run') });
    return { wakeUps, end, woken };
  }

  it('wakes everybody who waits for the call that was settled, and nobody else', () => {
    const { wakeUps, woken } = watching();
    wakeUps.onLog(message([decided('a')]));
    expect(woken).toEqual(['a', 'a']);
    wakeUps.onLog(message([{ type: 'approval.decided', data: { tool_call_id: 'b' } }, decided('zzz')]));
    expect(woken).toEqual(['a', 'a', 'b']);
  });

  it('wakes the whole run when it ends or moves on, and when the log says only that something happened', () => {
    for (const heard of [[{ type: 'session.status_changed', data: {} }], null]) {
      const { wakeUps, woken } = watching();
      wakeUps.onLog(message(heard));
      expect(woken.sort()).toEqual(['a', 'a', 'b']);
    }
  });

  it('hears nothing in what settles nothing', () => {
    const { wakeUps, woken } = watching();
    wakeUps.onLog(message([{ type: 'agent.message', data: { text: '"type":"tool.decisions"' } }]));
    wakeUps.onLog(message([decided('a')], 'run-1', 'policy'));
    wakeUps.onLog(message([decided('a')], 'run-9'));
    wakeUps.onLog(message([{ type: 'tool.decision' }]));
    expect(woken).toEqual([]);
  });

  it('wakes everybody after an outage, counts those who wait, and forgets those who do not', () => {
    const { wakeUps, end, woken } = watching();
    wakeUps.wakeAll();
    expect(woken).toHaveLength(4);
    expect(wakeUps.waiting('run-1')).toBe(3);
    end[0]?.();
    end[0]?.();
    expect(wakeUps.waiting('run-1')).toBe(2);
    wakeUps.onLog(message([decided('a')]));
    expect(woken).toHaveLength(5);
    for (const each of end) each();
    expect([wakeUps.waiting('run-1'), wakeUps.waiting('run-2')]).toEqual([0, 1]);
  });
});
