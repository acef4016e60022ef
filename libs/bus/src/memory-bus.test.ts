import { Heartbeat, type LogMessage, Problem } from '@fluidbox/contracts';
import { MemoryHub } from './memory-bus';

const run_id = '00000000-0000-7000-8000-000000000001' as never;
const org = 'default' as never;
const beat = { run_id, org, generation: 1 };

describe('the bus in memory', () => {
  it('answers, refuses and fails as the one over NATS', async () => {
    const bus = new MemoryHub().bus();
    await expect(bus.request(Heartbeat, beat)).rejects.toMatchObject({ code: 'unavailable' });
    const responder = bus.respond(Heartbeat, async ({ generation }) => {
      if (generation === 2) throw new Problem('stale_lease', 'old');
      if (generation === 3) throw new Error('secret detail');
      return { ok: true, action: null };
    });
    await expect(bus.request(Heartbeat, beat)).resolves.toEqual({ ok: true, action: null });
    await expect(bus.request(Heartbeat, { ...beat, generation: 2 })).rejects.toMatchObject({ code: 'stale_lease' });
    await expect(bus.request(Heartbeat, { ...beat, generation: 3 })).rejects.toMatchObject({ code: 'internal' });
    await expect(bus.request(Heartbeat, { ...beat, generation: 'x' as never })).rejects.toMatchObject({ code: 'unprocessable' });
    await responder.drain();
    await expect(bus.request(Heartbeat, beat)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('brings log messages to those who follow them', async () => {
    const hub = new MemoryHub();
    const bus = hub.bus();
    const seen: string[] = [];
    bus.followLog(['run'], ({ id }) => seen.push(`log ${id}`));
    const stream = bus.followStream('run', 'default', 'a', ({ id }) => seen.push(`stream ${id}`));
    const message: LogMessage = { stream: 'run-a', category: 'run', org, id: 'a', firstSeq: 1, lastSeq: 1, generation: 1, events: null };
    bus.publishLog(message);
    bus.publishLog({ ...message, id: 'b' });
    bus.publishLog({ ...message, category: 'agent' });
    await stream.drain();
    bus.publishLog(message);
    expect(seen).toEqual(['log a', 'stream a', 'log b', 'log a']);
  });
});
