import { createServer } from 'node:net';
import { CommandFailure } from '../failure';
import { type Environment, withApi } from './connect';

const noStack = (): Promise<string> => Promise.reject(new Error('the local stack was started'));
const connect = (environment: Environment, work = async () => 'connected'): Promise<string> => withApi(environment, noStack, work);
const codeOf = (promise: Promise<string>): Promise<number> =>
  promise.then(
    () => 0,
    (error: unknown) => {
      if (error instanceof CommandFailure) return error.exitCode;
      throw error;
    },
  );

/** A port that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

describe('whom a command talks to', () => {
  const url = 'http://127.0.0.1:8787';

  it('is the address given, with a token', async () => {
    expect(await codeOf(connect({ FLUIDBOX_API_URL: url, FLUIDBOX_TOKEN: 'x' }))).toBe(0);
  });

  it('wrong settings are a wrong call', async () => {
    expect(await codeOf(connect({ FLUIDBOX_API_URL: 'nonsense', FLUIDBOX_TOKEN: 'x' }))).toBe(2);
    expect(await codeOf(connect({ FLUIDBOX_API_URL: 'localhost:8787', FLUIDBOX_TOKEN: 'x' }))).toBe(2);
    expect(await codeOf(connect({ FLUIDBOX_API_URL: url }))).toBe(2);
    expect(await codeOf(connect({ FLUIDBOX_API_URL: url, FLUIDBOX_TOKEN_FILE: '/does/not/exist' }))).toBe(2);
    expect(await codeOf(connect({ FLUIDBOX_API_URL: url, FLUIDBOX_TOKEN_FILE: '/dev/null' }))).toBe(2);
    expect(await codeOf(connect({ FLUIDBOX_API_URL: url, FLUIDBOX_TOKEN: ' ' }))).toBe(2);
  });

  it('where nothing answers, the address and the code 9 say so', async () => {
    const FLUIDBOX_API_URL = `http://127.0.0.1:${await closedPort()}`;
    const environment = { FLUIDBOX_API_URL, FLUIDBOX_TOKEN: 'x' };
    const work = withApi(environment, noStack, async ({ api }) => (await api.session('x')).id);
    await expect(work).rejects.toMatchObject({ exitCode: 9, message: expect.stringContaining(FLUIDBOX_API_URL) });
  });
});
