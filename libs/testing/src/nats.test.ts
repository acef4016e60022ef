import net from 'node:net';
import { startTestNats } from './nats';

const connects = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

describe('the test NATS server', () => {
  it('listens until stop()', async () => {
    const nats = await startTestNats();
    await expect(connects(nats.port)).resolves.toBe(true);
    await nats.stop();
    await expect(connects(nats.port)).resolves.toBe(false);
  });

  it('is away during a restart and back on the same port afterwards', async () => {
    const nats = await startTestNats();
    let away: boolean | undefined;
    await nats.restart({
      whileDown: async () => {
        away = !(await connects(nats.port));
      },
    });
    expect(away).toBe(true);
    await expect(connects(nats.port)).resolves.toBe(true);
    await nats.stop();
  });

  it('shows the log when the configuration is refused', async () => {
    await expect(
      startTestNats({ users: [{ user: 'a', password: 'b', permissions: { publish: ['not..valid'], subscribe: [] } }] }),
    ).rejects.toThrow(/did not start/);
  });
});
