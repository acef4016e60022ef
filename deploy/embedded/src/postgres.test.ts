import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { isAlive } from '@fluidbox/tooling/identity';
import { Client } from 'pg';
import { type RunningPostgres, startPostgres } from './postgres';
import { linkLibraries } from './postgres-binaries';

const closed = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-pg-'));
let running: RunningPostgres | undefined;

const ask = async (url: string, text: string): Promise<unknown> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query({ text, rowMode: 'array' });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
};
const options = { dir: path.join(closed, 'postgres'), durable: false };

beforeAll(async () => {
  fs.chmodSync(closed, 0o700);
  running = await startPostgres(options);
});
afterAll(async () => {
  await running?.stop();
  fs.rmSync(closed, { recursive: true, force: true });
});
const server = (): RunningPostgres => {
  if (!running) throw new Error('Postgres is not running');
  return running;
};

describe('embedded Postgres', () => {
  it('answers in a folder of mode 0700, over TCP on loopback only', async () => {
    expect(await ask(server().url(), 'show listen_addresses')).toBe('127.0.0.1');
    expect(await ask(server().url(), 'show unix_socket_directories')).toBe('');
  });

  it('refuses a wrong password and takes the right one', async () => {
    const wrong = server().url().replace(server().password, 'guess');
    await expect(ask(wrong, 'select 1')).rejects.toThrow(/password authentication failed/);
    expect(await ask(server().url(), 'select 1')).toBe(1);
    expect(fs.statSync(path.join(options.dir, 'superuser-password')).mode & 0o777).toBe(0o600);
  });

  it('keeps its data and its port across a clean restart', async () => {
    await ask(server().url(), 'create table kept as select 7 as n');
    const { port } = server();
    await server().stop();
    running = await startPostgres({ ...options, port });
    expect(running.port).toBe(port);
    expect(await ask(running.url(), 'select n from kept')).toBe(7);
  });

  it('ends a server that was left behind and takes over its data', async () => {
    const left = server().child.identity;
    running = await startPostgres(options);
    expect(isAlive(left)).toBe(false);
    expect(running.child.identity.pid).not.toBe(left.pid);
    expect(await ask(running.url(), 'select n from kept')).toBe(7);
  });

  it('finds a left server by its data folder when its pid file was never written', async () => {
    const left = server().child.identity;
    fs.rmSync(path.join(options.dir, 'postgres.pid.json'));
    running = await startPostgres(options);
    expect(isAlive(left)).toBe(false);
    expect(await ask(running.url(), 'select 1')).toBe(1);
  });

  it('leaves alone the stranger that got the pid of a server that was killed', async () => {
    await server().stop();
    const stranger = spawn('sleep', ['60']);
    fs.writeFileSync(path.join(options.dir, 'data/postmaster.pid'), `${stranger.pid}\n`);
    fs.writeFileSync(path.join(options.dir, 'postgres.pid.json'), JSON.stringify({ pid: stranger.pid, startTime: 'another' }));
    try {
      running = await startPostgres(options);
      expect(await ask(running.url(), 'select 1')).toBe(1);
      expect(stranger.exitCode).toBeNull();
      expect(stranger.signalCode).toBeNull();
    } finally {
      stranger.kill('SIGKILL');
    }
  });

  it('says what the log says when it cannot start', async () => {
    const bad = startPostgres({ dir: path.join(closed, 'bad'), durable: false, settings: { max_connections: 'many' } });
    await expect(bad).rejects.toThrow(/did not start.*max_connections/s);
  });

  it('is durable unless told otherwise: what was committed outlives a kill, on the same port', async () => {
    const durable = { dir: path.join(closed, 'durable') };
    const first = await startPostgres(durable);
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) expect(await ask(first.url(), `show ${setting}`)).toBe('on');
    await ask(first.url(), 'create table kept as select 7 as n');
    await ask(first.url(), 'insert into kept values (8)');
    process.kill(first.child.identity.pid, 'SIGKILL');
    const second = await startPostgres({ ...durable, port: first.port, exactPort: true });
    try {
      expect(second.port).toBe(first.port);
      expect(await ask(second.url(), 'select count(*)::int from kept')).toBe(2);
    } finally {
      await second.stop();
    }
  });
});

describe('library links', () => {
  it('are made when the install script did not run', () => {
    const dir = path.join(closed, 'package');
    fs.mkdirSync(path.join(dir, 'native/lib'), { recursive: true });
    fs.writeFileSync(path.join(dir, 'native/lib/libx.so.1.2'), 'library');
    fs.writeFileSync(
      path.join(dir, 'native/pg-symlinks.json'),
      JSON.stringify([{ source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so.1' }]),
    );
    linkLibraries(dir);
    linkLibraries(dir);
    expect(fs.readFileSync(path.join(dir, 'native/lib/libx.so.1'), 'utf8')).toBe('library');
  });
});
