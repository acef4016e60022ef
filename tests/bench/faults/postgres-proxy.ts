import fs from 'node:fs';
import net, { type AddressInfo, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { Servers } from '../support/servers';

/** Where an append is cut. */
export type Cut =
  /** Half of its bytes reach Postgres. */
  | 'half sent'
  /** It is committed, and nothing of the answer reaches the appender. */
  | 'committed, not answered';

export interface PostgresProxy {
  /** For a process whose connections to Postgres go through here. */
  readonly environment: Readonly<Record<string, string>>;
  /** The next append of at least so many bytes is cut: its connection hears nothing more. Resolves when that has happened. */
  cutNext(cut: Cut, bytesMin?: number): Promise<void>;
  /** Closes what was cut, as a network does that broke. */
  breakOff(): void;
  stop(): void;
}

const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Stands between an appending process and Postgres and knows an append when it sees one: its statement has a name. */
export async function startPostgresProxy(servers: Servers): Promise<PostgresProxy> {
  let armed: { readonly cut: Cut; readonly bytesMin: number; readonly done: () => void } | null = null;
  const open = new Set<Socket>();
  const severed: Socket[] = [];
  const server = net.createServer((client) => {
    const upstream = net.connect(Number(new URL(servers.url).port), '127.0.0.1');
    let cutting: Cut | null = null;
    let done = (): void => undefined;
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => open.delete(socket));
    }
    client.on('data', (chunk) => {
      if (cutting === 'half sent') return;
      if (armed !== null && chunk.includes('ledger-append') && chunk.length >= armed.bytesMin) {
        ({ cut: cutting, done } = armed);
        armed = null;
        severed.push(client, upstream);
      }
      if (cutting !== 'half sent') return void upstream.write(chunk);
      upstream.write(chunk.subarray(0, chunk.length >> 1), () => done());
    });
    upstream.on('data', (chunk) => {
      if (cutting === null) return void client.write(chunk);
      // Said after the commit.
      if (chunk.subarray(-readyForQuery.length).equals(readyForQuery)) done();
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const dir = secretsThrough(port, servers.environment.FLUIDBOX_SECRETS_DIR ?? '');
  return {
    environment: { FLUIDBOX_SECRETS_DIR: dir },
    cutNext: (cut, bytesMin = 0) =>
      new Promise((done) => {
        armed = { cut, bytesMin, done };
      }),
    breakOff: () => {
      for (const socket of severed.splice(0)) socket.destroy();
    },
    stop: () => {
      server.close();
      for (const socket of open) socket.destroy();
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The secrets of the gate, with our port in the place of the database's. */
function secretsThrough(port: number, folder: string): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-proxy-'));
  const secrets = JSON.parse(fs.readFileSync(path.join(folder, 'gate.json'), 'utf8')) as { database_url: string };
  const url = new URL(secrets.database_url);
  url.port = String(port);
  fs.writeFileSync(path.join(dir, 'gate.json'), JSON.stringify({ ...secrets, database_url: url.href }), { mode: 0o600 });
  return dir;
}
