import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type LogMessage, runStream, streamNameOf } from '@fluidbox/contracts';
import { generateSigningKeyFiles } from '@fluidbox/seal';
import { until } from '@fluidbox/testing';
import { faultsOf } from '../append-integrity';
import { allOf } from '../append-sides';
import { type AppendingProcess, startAppendingProcess } from '../support/appending-process';
import { type Servers, startServers } from '../support/servers';
import { startServiceProcess } from '../support/service-process';
import { type PostgresProxy, startPostgresProxy } from './postgres-proxy';

const none = { gaps: 0, lost: 0, duplicates: 0, chains: 0 };
const newIds = (runs: number): string[] => Array.from({ length: runs }, () => randomUUID());

describe('an appending process', () => {
  let servers: Servers;
  let proxy: PostgresProxy;
  beforeAll(async () => {
    servers = await startServers();
    proxy = await startPostgresProxy(servers);
  });
  afterAll(async () => {
    proxy?.stop();
    await servers?.stop();
  });

  /** Fills runs one event after another, all runs at once, and remembers what was acknowledged. */
  const filling = async (acknowledged: Map<string, number>, events: number, environment = {}): Promise<AppendingProcess> => {
    const child = await startAppendingProcess(
      servers,
      (report) => {
        if (report.is === 'acknowledged') acknowledged.set(report.run, report.events);
      },
      environment,
    );
    child.order({ do: 'fill', runs: [...acknowledged].map(([id, from]) => ({ id, from })), events });
    return child;
  };
  const stored = async (ids: Iterable<string>): Promise<number> => {
    const gate = await servers.context('gate');
    const heads = await gate.store.heads(
      'default',
      [...ids].map((id) => streamNameOf(runStream(id, 'default'))),
    );
    return [...heads.values()].reduce((sum, seq) => sum + seq, 0);
  };
  const told = (acknowledged: ReadonlyMap<string, number>): number => [...acknowledged.values()].reduce((sum, events) => sum + events, 0);
  /** Whoever comes after it goes on from what was acknowledged, with the same ids. */
  const goOn = async (acknowledged: Map<string, number>, events: number): Promise<void> => {
    const next = await filling(acknowledged, events);
    await next.next('filled');
    await next.kill();
  };

  it('[LEDGER-4] killed in the middle of sending a batch leaves nothing of it, and the next one goes on', async () => {
    const acknowledged = new Map(newIds(64).map((id) => [id, 0]));
    const cut = proxy.cutNext('half sent', 20_000);
    const child = await filling(acknowledged, 20, proxy.environment);
    await cut;
    await child.kill();
    proxy.breakOff();
    // What the other connection had committed meanwhile may not have been told; the batch that was cut is not among it.
    expect(await stored(acknowledged.keys())).toBeLessThan(64 * 20);
    expect(await stored(acknowledged.keys())).toBeGreaterThanOrEqual(told(acknowledged));
    await goOn(acknowledged, 20);
    expect(await faultsOf(servers, acknowledged, 20)).toEqual(none);
  });

  it('[LEDGER-4] killed between the commit of a batch and its answer: the batch is there, once, and the next one is answered', async () => {
    const acknowledged = new Map(newIds(64).map((id) => [id, 0]));
    const cut = proxy.cutNext('committed, not answered', 20_000);
    const child = await filling(acknowledged, 20, proxy.environment);
    await cut;
    await child.kill();
    proxy.breakOff();
    expect(await stored(acknowledged.keys())).toBeGreaterThan(told(acknowledged));
    await goOn(acknowledged, 20);
    expect(await faultsOf(servers, acknowledged, 20)).toEqual(none);
  });

  it.each([
    ['one event alone', 1],
    ['a batch', 64],
  ])(
    '[LEDGER-4] whose connection breaks between commit and answer (%s) finds what it had stored and goes on by itself',
    async (_name, runs) => {
      const acknowledged = new Map(newIds(runs).map((id) => [id, 0]));
      const child = await filling(acknowledged, 3, proxy.environment);
      const filled = child.next('filled');
      await Promise.race([proxy.cutNext('committed, not answered'), filled]);
      proxy.breakOff();
      await filled;
      expect(told(acknowledged)).toBe(runs * 3);
      await child.kill();
      expect(await faultsOf(servers, acknowledged, 3)).toEqual(none);
    },
  );

  it('[LEDGER-4] killed between commit and publish: projector tells the log in its place', async () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-projector-'));
    generateSigningKeyFiles(path.join(dir, 'key.pem'), path.join(dir, 'keys.json'));
    const projector = await startServiceProcess('projector', {
      ...servers.environment,
      FLUIDBOX_LEDGER_KEY_FILE: path.join(dir, 'key.pem'),
    });
    try {
      const id = randomUUID();
      const heard: LogMessage[] = [];
      const gateway = await servers.context('gateway');
      gateway.bus.followLog(['run'], (message) => {
        if (message.id === id) heard.push(message);
      });
      await gateway.bus.flush();
      // It looks when the process is dead, however long that takes.
      process.kill(projector.pid, 'SIGSTOP');
      const child = await startAppendingProcess(servers);
      child.order({ do: 'die answered', run: id });
      await child.gone;
      expect(await allOf(await servers.context('gate'), runStream(id, 'default'))).toHaveLength(1);
      await gateway.bus.flush();
      expect(heard).toEqual([]);
      process.kill(projector.pid, 'SIGCONT');
      await until(() => heard.length > 0);
      expect(heard.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq])).toEqual([[1, 1]]);
    } finally {
      process.kill(projector.pid, 'SIGCONT');
      await projector.end();
      fs.rmSync(dir, { recursive: true, force: true });
    }
  });
});
