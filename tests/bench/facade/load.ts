import http from 'node:http';
import { performance } from 'node:perf_hooks';

/** One way to the provider: through something, or straight. */
export interface Way {
  readonly url: URL;
  readonly agent: http.Agent;
  readonly headers: (caller: number) => Readonly<Record<string, string>>;
}

export const wayTo = (url: string, headers: Way['headers']): Way => ({
  url: new URL(url),
  agent: new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }),
  headers,
});

export interface Answered {
  readonly firstByteMs: number;
  readonly totalMs: number;
  readonly bytes: number;
}

/** One request and its whole answer. Anything but a 200 ends the bench: figures of refusals say nothing. */
export function post(way: Way, caller: number, body: Buffer): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const request = http.request(
      way.url,
      {
        method: 'POST',
        agent: way.agent,
        headers: { 'content-type': 'application/json', 'content-length': body.length, ...way.headers(caller) },
      },
      (response) => {
        let firstByteMs = Number.NaN;
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          if (bytes === 0) firstByteMs = performance.now() - started;
          bytes += chunk.length;
        });
        response.on('end', () => {
          if (response.statusCode === 200 && response.complete) resolve({ firstByteMs, totalMs: performance.now() - started, bytes });
          else reject(new Error(`${way.url.href} answered ${response.statusCode}`));
        });
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** So many callers, each asking again as soon as it is answered, for `ms`. */
export async function keepAsking(callers: number, ms: number, once: (caller: number) => Promise<Answered>): Promise<readonly Answered[]> {
  const answers: Answered[] = [];
  const until = performance.now() + ms;
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      do answers.push(await once(caller));
      while (performance.now() < until);
    }),
  );
  return answers;
}
