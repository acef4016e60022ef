import type { ServerResponse } from 'node:http';
import type { Sink } from '../app/run-channel';
import type { Watching } from '../app/watch-hub';
import { firstFrame } from '../domain/event-batch';

const endMs = 30_000;

/** A server-sent event stream on a raw response: no buffering on the way. `watch` is called once the head is out. */
export function openEventStream(response: ServerResponse, watch: (sink: Sink) => Watching): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' });
  response.write(firstFrame);
  const watching = watch({
    write: (bytes) => response.destroyed || response.write(bytes),
    end: (lastWords) => {
      // Who does not take the end either is no longer the hub's to cut.
      const late = setTimeout(() => response.destroy(), endMs);
      response.once('close', () => clearTimeout(late));
      response.end(lastWords);
    },
    cut: () => void response.destroy(),
  });
  response.on('drain', () => watching.drained());
  response.once('close', () => watching.closed());
}
