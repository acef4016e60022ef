import type { ParkedView, ReadModelView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { paintFor } from '../paint';
import { listParkedCommand, rebuildCommand, replayParkedCommand } from './operations';
import { costsCommand, decisionsCommand } from './reports';

const stands = (version: number, rebuilding: Partial<ReadModelView['rebuilding'] & object> | null): ReadModelView => ({
  name: 'costs',
  version,
  rebuilding:
    rebuilding === null ? null : { version: 2, position: 0, target: 9, started_at: '2026-03-01T00:00:00Z', problem: null, ...rebuilding },
});
const outputOf = (json = false) => {
  const said = { out: [] as string[], err: [] as string[] };
  const paint = paintFor(process.stderr, { NO_COLOR: '1' });
  return {
    ...said,
    json,
    paint,
    output: { json, paint, out: (text: string) => void said.out.push(text), err: (text: string) => void said.err.push(text) },
  };
};
const api = (made: Partial<ApiClient>): ApiClient => made as ApiClient;

describe('rebuild', () => {
  it('says how far it is and waits for the switch', async () => {
    const steps = [stands(1, { position: 5 }), stands(2, null)];
    const { output, out, err } = outputOf();
    const client = api({ rebuild: async () => stands(1, {}), readModels: async () => ({ data: [steps.shift() ?? stands(2, null)] }) });
    expect(await rebuildCommand(client, 'costs', { wait: true }, output)).toBe(0);
    expect(err).toEqual(['costs: version 2 has read 0 of 9', 'costs: version 2 has read 5 of 9']);
    expect(out).toEqual(['costs: version 2 is live']);
  });

  it('fails with the reason when the rows cannot be written, and does not wait when told so', async () => {
    const { output, out } = outputOf();
    const broken = api({ rebuild: async () => stands(1, { problem: 'no room' }) });
    await expect(rebuildCommand(broken, 'costs', { wait: true }, output)).rejects.toThrow('no room; version 1 stays live');
    expect(await rebuildCommand(api({ rebuild: async () => stands(1, {}) }), 'costs', { wait: false }, output)).toBe(0);
    expect(out).toEqual(['costs: version 2 is being filled, version 1 is live']);
  });
});

describe('parked', () => {
  const row: ParkedView = {
    follower: 'f',
    position: 7,
    reason: 'poison',
    tries: 10,
    at: '2026-03-01T00:00:00Z',
    replay_requested_at: null,
  };

  it('lists what was given up and asks for one again', async () => {
    const { output, out } = outputOf();
    await listParkedCommand(api({ parked: async () => ({ data: [row] }) }), output);
    expect(out.join('\n')).toMatch(/FOLLOWER[\s\S]*f +7 +10 +2026-03-01T00:00:00Z +poison/);
    const replay = jest.fn(async () => row);
    await replayParkedCommand(api({ replay }), 'f', 7, output);
    expect(replay).toHaveBeenCalledWith('f', 7);
  });
});

describe('reports', () => {
  const period = { from: '2026-03-01', to: '2026-03-02', truncated: true };

  it('show sums and say when there are more', async () => {
    const { output, out, err } = outputOf();
    const group = {
      key: 'fixer',
      model_requests: 2,
      input_tokens: 10,
      output_tokens: 3,
      cache_read_tokens: 1,
      cache_write_tokens: 1,
      cost_micro_usd: 1_500_000,
    };
    await costsCommand(api({ costs: async ({ by }) => ({ by, ...period, data: [group] }) }), { by: 'agent' }, output);
    await decisionsCommand(
      api({ decisions: async ({ by }) => ({ by, ...period, data: [{ key: 'Bash', allow: 4, deny: 1, ask: 2 }] }) }),
      { by: 'tool' },
      output,
    );
    expect(out[0]).toMatch(/COST +REQUESTS[\s\S]*\$1\.5000 +2 +12 +3 +fixer/);
    expect(out[1]).toMatch(/ALLOW +DENY[\s\S]*4 +1 +2 +Bash/);
    expect(err.filter((line) => line.includes('there are more groups'))).toHaveLength(2);
  });

  it('say how a rule is named, where rules are counted', async () => {
    const { output, err } = outputOf();
    const decisions = api({ decisions: async ({ by }) => ({ by, ...period, data: [] }) });
    await decisionsCommand(decisions, { by: 'tool' }, output);
    expect(err.join('\n')).not.toContain('policy@version');
    await decisionsCommand(decisions, { by: 'rule' }, output);
    expect(err.join('\n')).toContain('policy@version#place');
  });

  it('are the answer itself for machines', async () => {
    const { output, out } = outputOf(true);
    const summary = { by: 'day' as const, ...period, data: [] };
    await costsCommand(api({ costs: async () => summary }), { by: 'day' }, output);
    expect(JSON.parse(out[0] ?? '')).toEqual(summary);
  });
});
