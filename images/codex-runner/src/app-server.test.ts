import { spawn } from 'node:child_process';
import { type AppServer, type AppServerHandlers, appServer } from './app-server';

/** A program that answers line by line as told, for what the real one never does. */
function start(script: string, handlers: Partial<AppServerHandlers> = {}): AppServer {
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'pipe'] });
  return appServer(child, {
    onRequest: async () => ({}),
    onNotification: () => undefined,
    log: () => undefined,
    ...handlers,
  });
}
const onLine = (body: string): string =>
  `const say = (value) => console.log(typeof value === 'string' ? value : JSON.stringify(value));
   require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => { const message = JSON.parse(line); ${body} });`;

describe('the wire to the program', () => {
  let server: AppServer | undefined;
  afterEach(async () => {
    server?.kill();
    await server?.ended;
  });

  it('pairs answers with calls, whatever their order, and hands on errors', async () => {
    server = start(
      onLine(`
        if (message.method === 'late') setTimeout(() => say({ id: message.id, result: 'late' }), 50);
        if (message.method === 'soon') say({ id: message.id, result: 'soon' });
        if (message.method === 'bad') say({ id: message.id, error: { code: 1, message: 'no such thing' } });`),
    );
    const [late, soon] = await Promise.all([server.call('late', {}), server.call('soon', {})]);
    expect([late, soon]).toEqual(['late', 'soon']);
    await expect(server.call('bad', {})).rejects.toThrow('no such thing');
  });

  it('answers requests of the program, and says no where the answer fails', async () => {
    const heard: unknown[] = [];
    server = start(
      onLine(`
        if (message.method === 'go') { say({ id: 'a', method: 'allowed', params: 1 }); say({ id: 0, method: 'unknown', params: {} }); }
        else say({ method: 'heard', params: message });`),
      {
        onRequest: async (method, params) => {
          if (method === 'allowed') return { params };
          throw new Error('refused');
        },
        onNotification: (_method, params) => heard.push(params),
      },
    );
    void server.call('go', {}).catch(() => undefined);
    while (heard.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(heard).toContainEqual({ id: 'a', result: { params: 1 } });
    expect(heard).toContainEqual({ id: 0, error: { code: -32601, message: 'refused' } });
  });

  it('logs what is no message, and goes on', async () => {
    const logged: string[] = [];
    server = start(
      onLine(`say('not json'); say('[1]'); say({ id: 99, result: 'nobody asked' }); say({ id: message.id, result: 'fine' });`),
      {
        log: (text) => logged.push(text),
      },
    );
    expect(await server.call('x', {})).toBe('fine');
    expect(logged).toEqual(['[codex] not a message: not json', '[codex] not a message: [1]']);
  });

  it('ends the calls that wait when the program ends', async () => {
    server = start(onLine('process.exit(3);'));
    await expect(server.call('x', {})).rejects.toThrow('the agent program has ended');
    expect(await server.ended).toBe(3);
    // Nobody hears this any more, and nothing breaks.
    server.notify('late');
  });
});
