import type { EventView } from '@fluidbox/contracts';
import type { FastifyReply } from 'fastify';
import type { Watcher } from '../app/watch-run';

const heartbeatMs = 15_000;
const slowClientMs = 30_000;

/** A server-sent event stream on a hijacked reply: `id` = seq, a comment every 15 s, no buffering on the way. */
export function openEventStream(reply: FastifyReply): Watcher & { end(): void; cut(): void } {
  reply.hijack();
  const response = reply.raw;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' });
  response.write('retry: 1000\n\n');
  const heartbeat = setInterval(() => response.write(': beat\n\n'), heartbeatMs);
  const closed = new Promise<void>((resolve) => {
    response.once('close', () => {
      clearInterval(heartbeat);
      resolve();
    });
  });
  return {
    closed,
    async send(event: EventView): Promise<boolean> {
      if (response.destroyed) return false;
      if (response.write(`id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`)) return true;
      const drained = await drainWithin(response, slowClientMs);
      if (!drained) response.destroy();
      return drained;
    },
    end: () => response.end(),
    cut: () => response.destroy(),
  };
}

function drainWithin(response: NodeJS.WritableStream, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (drained: boolean) => {
      clearTimeout(timer);
      response.off('drain', onDrain);
      response.off('close', onClose);
      resolve(drained);
    };
    const onDrain = () => settle(true);
    const onClose = () => settle(false);
    const timer = setTimeout(() => settle(false), ms);
    response.once('drain', onDrain);
    response.once('close', onClose);
  });
}
