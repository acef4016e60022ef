import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { isAlive } from '@fluidbox/tooling/identity';
import { natsGreets, type RunningNats, startNats } from './nats';
import type { NatsUser } from './nats-config';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-nats-'));
const gate: NatsUser = { user: 'gate', password: 'gate-secret', permissions: { publish: ['fb.log.run.>'], subscribe: ['fb.cmd.gate.>'] } };
let running: RunningNats;

beforeAll(async () => {
  running = await startNats({ dir, users: [gate] });
});
afterAll(async () => {
  await running.stop();
  fs.rmSync(dir, { recursive: true, force: true });
});

/** Speaks the wire by hand: sends the lines, then PING, and answers with all that came before PONG or the end. */
function talk(lines: readonly string[], login = gate): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(running.port, '127.0.0.1');
    let heard = '';
    socket.on('error', reject);
    socket.on('close', () => resolve(heard));
    socket.on('data', (chunk) => {
      heard += chunk.toString();
      if (heard.includes('PONG')) socket.destroy();
    });
    const connect = JSON.stringify({ user: login.user, pass: login.password, verbose: false, pedantic: false, lang: 'test', version: '1' });
    socket.write([`CONNECT ${connect}`, ...lines, 'PING', ''].join('\r\n'));
  });
}

describe('embedded NATS', () => {
  it('greets with JetStream and messages of 8 MiB', async () => {
    expect(await natsGreets(running.port)).toBe(true);
    expect(await talk([])).toContain(`"max_payload":${8 * 1024 * 1024}`);
  });

  it('refuses a wrong password and takes the right one', async () => {
    expect(await talk([], { ...gate, password: 'guess' })).toContain('Authorization Violation');
    expect(await talk([])).not.toContain('Violation');
  });

  it('lets a service publish and subscribe what the call map gives it, and nothing else', async () => {
    expect(await talk(['PUB fb.log.run.default.r1 2', 'hi'])).not.toContain('Violation');
    expect(await talk(['PUB fb.log.policy.default.p1 2', 'hi'])).toContain('Permissions Violation for Publish');
    expect(await talk(['SUB fb.cmd.gate.> 1'])).not.toContain('Violation');
    expect(await talk(['SUB fb.cmd.runs.> 1'])).toContain('Permissions Violation for Subscription');
  });

  it('keeps its passwords in a file of mode 0600', () => {
    expect(fs.statSync(path.join(dir, 'nats.conf')).mode & 0o777).toBe(0o600);
  });

  it('ends a server that was left behind, with or without a pid file, and may keep its port', async () => {
    const left = running.child.identity;
    running = await startNats({ dir, users: [gate], port: running.port });
    expect(isAlive(left)).toBe(false);
    const second = running.child.identity;
    const { port } = running;
    fs.rmSync(path.join(dir, 'nats.pid.json'));
    running = await startNats({ dir, users: [gate], port });
    expect(isAlive(second)).toBe(false);
    expect(running.port).toBe(port);
  });
});
