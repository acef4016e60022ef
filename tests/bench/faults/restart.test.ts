import { randomUUID } from 'node:crypto';
import { runStream } from '@fluidbox/contracts';
import { faultsOf } from '../append-integrity';
import { decision } from '../append-sides';
import { type Servers, startServers } from '../support/servers';

describe('Postgres restarted under appenders', () => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => servers?.stop());

  it.each(['stop', 'kill'] as const)('[LEDGER-4] (%s): callers wait, nothing is lost, nothing is doubled', async (how) => {
    const gate = await servers.context('gate');
    const acknowledged = new Map(Array.from({ length: 32 }, () => [randomUUID() as string, 0]));
    let going = true;
    let longest = 0;
    const callers = [...acknowledged.keys()].map(async (id) => {
      while (going) {
        const event = (acknowledged.get(id) ?? 0) + 1;
        const asked = performance.now();
        await gate.ledger.record(runStream(id, 'default'), [decision(event)]);
        longest = Math.max(longest, performance.now() - asked);
        acknowledged.set(id, event);
      }
    });
    const total = (): number => [...acknowledged.values()].reduce((sum, events) => sum + events, 0);
    const moreBy = async (events: number): Promise<void> => {
      for (const wanted = total() + events; total() < wanted; ) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const broke = Promise.all(callers);
    await Promise.race([moreBy(500), broke]);
    const started = performance.now();
    await servers.restartPostgres(how);
    const away = performance.now() - started;
    await Promise.race([moreBy(500), broke]);
    going = false;
    await broke;
    // Somebody did wait: it was really away.
    expect(longest).toBeGreaterThan(away / 4);
    expect(await faultsOf(servers, acknowledged, 0)).toEqual({ gaps: 0, lost: 0, duplicates: 0, chains: 0 });
  });
});
