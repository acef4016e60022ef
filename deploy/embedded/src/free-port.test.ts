import { once } from 'node:events';
import net from 'node:net';
import { bindablePort, freePort, onAFreePort } from './free-port';

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

  it('is another one when somebody took it between the look and the bind; any other failure is told at once', async () => {
    const asked: number[] = [];
    const bind = async (port: number): Promise<number> => {
      asked.push(port);
      if (asked.length === 1) throw new Error(`listen tcp 127.0.0.1:${port}: bind: address already in use`);
      return port;
    };
    const preferred = await freePort();
    expect(await onAFreePort(preferred, bind)).toBe(asked[1]);
    expect(asked[1]).not.toBe(preferred);
    const always = jest.fn(async () => Promise.reject(new Error('could not bind: Address already in use')));
    await expect(onAFreePort(undefined, always)).rejects.toThrow('already in use');
    expect(always).toHaveBeenCalledTimes(3);
    const broken = jest.fn(async () => Promise.reject(new Error('no such user')));
    await expect(onAFreePort(undefined, broken)).rejects.toThrow('no such user');
    expect(broken).toHaveBeenCalledTimes(1);
  });
});
