import { randomUUID } from 'node:crypto';
import { runStream } from '@fluidbox/contracts';
import { verifyChain } from '@fluidbox/event-store';
import { allOf } from './append-sides';
import { type AppendingProcess, startAppendingProcess } from './support/appending-process';
import type { Bench, Plan, Round } from './support/measure';
import type { Servers } from './support/servers';

const sizes = {
  toy: { runs: 4, events: 20, kills: 2 },
  usual: { runs: 300, events: 200, kills: 5 },
  full: { runs: 1_000, events: 200, kills: 5 },
};

export interface Faults {
  gaps: number;
  lost: number;
  duplicates: number;
  chains: number;
}

/** The appending process is killed again and again; the next one goes on from what was acknowledged, with the same event ids. */
async function fillUnderKills(servers: Servers, ids: readonly string[], events: number, kills: number): Promise<Map<string, number>> {
  const acknowledged = new Map(ids.map((id) => [id, 0]));
  let told = 0;
  const start = (): Promise<AppendingProcess> =>
    startAppendingProcess(servers, (report) => {
      if (report.is !== 'acknowledged') return;
      told += 1;
      acknowledged.set(report.run, Math.max(report.events, acknowledged.get(report.run) ?? 0));
    });
  for (let kill = 0; kill <= kills; kill += 1) {
    const child = await start();
    child.order({ do: 'fill', runs: ids.map((id) => ({ id, from: acknowledged.get(id) ?? 0 })), events });
    if (kill === kills) await child.next('filled');
    else {
      const before = told;
      const share = (ids.length * events) / (kills + 1);
      while (told < before + share * (0.5 + Math.random() / 2)) await child.next('acknowledged');
    }
    await child.kill();
  }
  return acknowledged;
}

/** What is wrong with runs that should hold `events` events each, and at least what was acknowledged. */
export async function faultsOf(servers: Servers, acknowledged: ReadonlyMap<string, number>, events: number): Promise<Faults> {
  const gate = await servers.context('gate');
  const faults: Faults = { gaps: 0, lost: 0, duplicates: 0, chains: 0 };
  for (const [id, told] of acknowledged) {
    const rows = await allOf(gate, runStream(id, 'default'));
    const calls = rows.map(({ data }) => (data as { tool_call_id: string }).tool_call_id);
    const distinct = new Set(calls);
    faults.gaps += rows.filter(({ seq }, index) => seq !== index + 1).length;
    faults.duplicates += calls.length - distinct.size;
    for (let event = 1; event <= Math.max(told, events); event += 1) if (!distinct.has(`call_${event}`)) faults.lost += 1;
    if (!verifyChain(rows).ok) faults.chains += 1;
  }
  return faults;
}

export const appendIntegrity: Bench = {
  id: 'A6',
  what: 'events appended under kill -9 of the appending process: what is wrong afterwards',
  unit: 'faults',
  sides: {
    gaps: 'sequence numbers that are missing',
    lost: 'acknowledged events that are not there',
    duplicates: 'events that are there twice',
    chains: 'runs whose chain does not verify',
  },
  checks: (['gaps', 'lost', 'duplicates', 'chains'] as const).map((name) => ({ name, op: '<=', goal: 0, ours: name, peer: 1 })),
  async run({ size, runs: wanted }: Plan, start) {
    const servers = await start();
    const { runs, events, kills } = { ...sizes[size], ...(wanted === undefined ? {} : { runs: wanted }) };
    const ids = Array.from({ length: runs }, () => randomUUID());
    const acknowledged = await fillUnderKills(servers, ids, events, kills);
    const rounds: Round[] = [{ ...(await faultsOf(servers, acknowledged, events)) }];
    return {
      rounds,
      verified: `${runs} runs × ${events} events, ${kills} × kill -9: read back whole`,
      settings: { ...(await servers.settings()), runs: String(runs), kills: String(kills) },
    };
  },
};
