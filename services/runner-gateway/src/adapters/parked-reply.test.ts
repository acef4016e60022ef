import type { IncomingMessage } from 'node:http';
import fastify, { type FastifyInstance } from 'fastify';
import { ParkedReply } from './parked-reply';

describe('a reply to a permission call', () => {
  let app: FastifyInstance;
  let requests: IncomingMessage[];
  let parked: ParkedReply[];
  let url: string;
  beforeEach(async () => {
    requests = [];
    parked = [];
    app = fastify();
    app.post('/', async (request, reply) => {
      requests.push(request.raw);
      const each = new ParkedReply(reply.header('x-request-id', 'mine'), 60_000);
      parked.push(each);
      if (request.headers['x-wait'] !== undefined) each.begin();
      else each.end({ decision: 'allow' });
      await new Promise((resolve) => reply.raw.once('close', resolve));
    });
    url = await app.listen({ port: 0, host: '127.0.0.1' });
  });
  afterEach(() => app.close());
  const ask = (headers: Record<string, string>) =>
    fetch(url, { method: 'POST', headers: { authorization: 'Bearer of-the-run', connection: 'close', ...headers } });

  it('keeps nothing of what admitted the call while a person thinks, and answers what was decided', async () => {
    const answer = await ask({ 'x-wait': '1' });
    expect(answer.headers.get('x-request-id')).toBe('mine');
    expect(JSON.stringify([requests[0]?.headers, requests[0]?.rawHeaders])).not.toContain('of-the-run');
    parked[0]?.end({ decision: 'allow' });
    expect(await answer.json()).toEqual({ decision: 'allow' });
  });

  it('that is decided at once is an ordinary one', async () => {
    expect(await (await ask({})).json()).toEqual({ decision: 'allow' });
    expect(requests[0]?.headers.authorization).toBe('Bearer of-the-run');
  });
});
