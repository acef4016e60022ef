import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf, streamHead, streamTail, wordDelta } from './answers';

/**
 * A model provider in a process of its own. The request says how it wants to be answered: `metadata.user_id` is `flat` or `paced:MS`, `max_tokens` is
 * the number of pieces of a stream.
 */
const server = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as { stream?: boolean; max_tokens: number; metadata?: { user_id?: string } };
    if (asked.stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': messageOf.length }).end(messageOf);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const [pace, ms] = (asked.metadata?.user_id ?? 'flat').split(':');
    void (pace === 'paced' ? paced(response, asked.max_tokens, Number(ms)) : flatOut(response, asked.max_tokens));
  });
});

async function paced(response: http.ServerResponse, pieces: number, ms: number): Promise<void> {
  response.write(streamHead);
  for (let i = 0; i < pieces; i++) {
    await pause(ms);
    response.write(wordDelta);
  }
  response.end(streamTail(pieces));
}

/** As a fast provider writes: a handful of events in each piece, as quickly as they are taken. */
const eventsAtOnce = 8;
const handful = Buffer.concat(Array.from({ length: eventsAtOnce }, () => wordDelta));

async function flatOut(response: http.ServerResponse, pieces: number): Promise<void> {
  response.write(streamHead);
  for (let i = 0; i < pieces; i += eventsAtOnce) {
    if (!response.write(handful)) await new Promise((resolve) => response.once('drain', resolve));
  }
  response.end(streamTail(pieces));
}

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
