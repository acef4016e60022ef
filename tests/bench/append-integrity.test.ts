import { randomUUID } from 'node:crypto';
import { runStream } from '@fluidbox/contracts';
import type { Client } from 'pg';
import { faultsOf } from './append-integrity';
import { decision } from './append-sides';
import { type Servers, startServers } from './support/servers';

const events = 6;

describe('the counters of A6', () => {
  let servers: Servers;
  let owner: Client;
  beforeAll(async () => {
    servers = await startServers();
    owner = await servers.connect();
    // The owner of the database alone gets past the trigger that keeps the ledger append-only.
    await owner.query('set session_replication_role = replica');
  });
  afterAll(() => servers?.stop());

  const wholeRun = async (): Promise<string> => {
    const id = randomUUID();
    const gate = await servers.context('gate');
    for (let event = 1; event <= events; event += 1) await gate.ledger.record(runStream(id, 'default'), [decision(event)]);
    return id;
  };
  const faults = (id: string, acknowledged = events) => faultsOf(servers, new Map([[id, acknowledged]]), events);

  it('find nothing in a run that is whole', async () => {
    expect(await faults(await wholeRun())).toEqual({ gaps: 0, lost: 0, duplicates: 0, chains: 0 });
  });

  it('count what is planted, each kind by its name', async () => {
    const gap = await wholeRun();
    await owner.query('delete from ledger.events where stream = $1 and seq = 3', [`run-${gap}`]);
    expect(await faults(gap)).toEqual({ gaps: events - 3, lost: 1, duplicates: 0, chains: 1 });

    const lost = await wholeRun();
    await owner.query('delete from ledger.events where stream = $1 and seq = $2', [`run-${lost}`, events]);
    expect(await faults(lost)).toEqual({ gaps: 0, lost: 1, duplicates: 0, chains: 0 });
    expect(await faults(lost, events + 2)).toMatchObject({ lost: 3 });

    const twice = await wholeRun();
    const gate = await servers.context('gate');
    await gate.ledger.record(runStream(twice, 'default'), [decision(2)]);
    expect(await faults(twice)).toEqual({ gaps: 0, lost: 0, duplicates: 1, chains: 0 });

    const changed = await wholeRun();
    await owner.query(
      `update ledger.events e set body = b.body, body_digest = sha256(b.body)
       from (select convert_to(replace(convert_from(body, 'UTF8'), '"allow"', '"deny"'), 'UTF8') as body from ledger.events where stream = $1 and seq = 2) b
       where stream = $1 and seq = 2`,
      [`run-${changed}`],
    );
    expect(await faults(changed)).toEqual({ gaps: 0, lost: 0, duplicates: 0, chains: 1 });
  });
});
