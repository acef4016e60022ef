import { once } from 'node:events';
import net from 'node:net';
import { bindablePort, freePort } from './free-port';

describe('free port', () => {
  it('is the preferred one when that is free, another when it is taken', async () => {
    const port = await freePort();
    expect(await freePort(port)).toBe(port);
    const server = net.createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    expect(await bindablePort(port)).toBeUndefined();
    expect(await freePort(port)).not.toBe(port);
    server.close();
    await once(server, 'close');
    expect(await freePort(port)).toBe(port);
  });

  it('is never one that was given out before, nor one that outgoing connections may get', async () => {
    const port = await freePort();
    expect(await freePort(port, new Set([port]))).not.toBe(port);
    expect(port).toBeLessThan(32_768);
  });
});
