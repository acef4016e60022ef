import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { type EventDraft, type EventView, type Principal, runStream, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { openEventStream } from '../../../services/gateway/src/adapters/sse';
import { readEvents } from '../../../services/gateway/src/app/read-events';
import { WatchHub } from '../../../services/gateway/src/app/watch-hub';
import { firstFrame } from '../../../services/gateway/src/domain/event-batch';
import type { Servers } from '../support/servers';

export const eventsAtOnce = 6;
/** Batches that may be on their way to the clients. */
const window = 2;
/** What HTTP puts round each chunk of a stream without a length: its size in hexadecimal and two line ends. */
const framed = (bytes: number): number => bytes + bytes.toString(16).length + 4;

const text = 'An agent says about this much in one message, and a tool call with its projection is somewhat longer. '.repeat(4);
const message = (): EventDraft =>
  ({
    type: 'agent.message',
    actor: 'runner',
    data: { role: 'assistant', digest: `sha256:${'ab'.repeat(32)}`, chars: text.length },
    content: { text },
  }) as EventDraft;

/** The clients' process. */
class Readers {
  readonly #child: ChildProcess;
  #handlers: ((message: Record<string, unknown>) => boolean)[] = [];

  constructor() {
    this.#child = fork(path.join(__dirname, 'readers.mjs'), { execArgv: [], serialization: 'advanced' });
    this.#child.on('message', (message) => {
      this.#handlers = this.#handlers.filter((handle) => !handle(message as Record<string, unknown>));
    });
  }

  ask<T>(request: object, answer: string): Promise<T> {
    this.#child.send(request);
    return new Promise((resolve) => {
      this.#handlers.push((message) => {
        if (!(answer in message)) return false;
        resolve(message[answer] as T);
        return true;
      });
    });
  }

  /** Resolves when the clients together have so many bytes of events. */
  reach(bytes: number): Promise<void> {
    this.#child.send({ reach: bytes });
    return new Promise((resolve) => {
      this.#handlers.push((message) => {
        if (message.reached !== bytes) return false;
        resolve();
        return true;
      });
    });
  }

  stop(): void {
    this.#child.disconnect();
  }
}

/** What a side is measured by: one slice of deliveries, all of which the clients have received at its end. */
export interface Slice {
  readonly deliveries: number;
  readonly seconds: number;
  readonly cpuMicros: number;
}

/** The hub of the gateway on a real ledger and a real bus, its watchers on real sockets; and the same sockets without it. */
export async function fanOutWorld(servers: Servers, side: 'hub' | 'plain', watchers: number) {
  const [runs, gateway] = [await servers.context('runs'), await servers.context('gateway')];
  const run: StreamRef = runStream(randomUUID(), 'default');
  const name = streamNameOf(run);
  await runs.ledger.decide(runFold, run, () => ({ createKeys: runs.keyring.create(name), events: [message()], result: undefined }));
  const counts = { ledgerReads: 0, written: 0, appended: 1 };
  const read = async (after: number): Promise<readonly EventView[]> => {
    counts.ledgerReads += 1;
    return readEvents(gateway.ledger, run.org, run.id, { after, limit: 500, bytesMax: 256 * 1024 });
  };
  const admin: Principal = { name: 'admin', role: 'admin', org: 'default' };
  const hub = new WatchHub({
    readEvents: (_org, _run, { after }) => read(after),
    heads: (org, streams) => {
      counts.ledgerReads += 1;
      return gateway.store.heads(org, streams);
    },
    authenticate: async () => admin,
    now: () => performance.now(),
    onFailure: (doing, error) => process.stderr.write(`${doing}: ${String(error)}\n`),
  });
  hub.start();
  const plain: ServerResponse[] = [];
  /** How far each watcher is. The hub writes a batch to all who take it in one go, so the first one tells when that was. */
  const cursors: number[] = [];
  let onSeen: () => void = () => undefined;
  const http = createServer((request, response) => {
    if (request.url === '/plain') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(firstFrame);
      plain.push(response);
      return;
    }
    openEventStream(response, (sink) => {
      const index = cursors.push(counts.appended) - 1;
      const counted = {
        ...sink,
        write: (bytes: Buffer): boolean => {
          counts.written += framed(bytes.length);
          cursors[index] = lastIdOf(bytes) ?? cursors[index] ?? 0;
          if (index === 0) setImmediate(() => onSeen());
          return sink.write(bytes);
        },
      };
      return hub.watch(
        { run: { id: run.id, org: run.org, invokedBy: 'admin' }, after: counts.appended, authorization: `x${index % 10}` },
        counted,
      );
    });
  });
  const subscription = gateway.bus.followStream('run', run.org, run.id, (heard) => hub.hear(heard));
  await gateway.bus.flush();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const address = http.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const readers = new Readers();
  const open = (count: number) => readers.ask({ open: { port, path: side === 'hub' ? '/hub' : '/plain', count, sample: true } }, 'opened');
  await open(watchers);

  const append = async (count: number): Promise<void> => {
    const stored = await runs.ledger.record(run, Array.from({ length: count }, message));
    counts.appended = stored?.lastSeq ?? counts.appended;
  };
  const untilSeen = async (seq: number): Promise<void> => {
    while ((cursors[0] ?? 0) < seq) await new Promise<void>((resolve) => (onSeen = resolve));
  };
  /** Batches one after the other, each counted when every client has it; `produce` answers when it has been written to all. */
  const slice = async (ms: number, produce: () => Promise<void>, wanted = () => 0): Promise<Slice> => {
    const started = performance.now();
    const cpu = process.cpuUsage();
    let batches = 0;
    const underway: Promise<void>[] = [];
    while (performance.now() - started < ms) {
      await produce();
      batches += 1;
      underway.push(readers.reach(counts.written));
      if (underway.length >= window) await underway.shift();
    }
    // Whose connection was full got the last batch later than the first one.
    while (cursors.some((cursor) => cursor < wanted())) await delay(1);
    underway.push(readers.reach(counts.written));
    await Promise.all(underway);
    const used = process.cpuUsage(cpu);
    const seconds = (performance.now() - started) / 1_000;
    return { deliveries: batches * eventsAtOnce * watchers, seconds, cpuMicros: used.user + used.system };
  };
  const writeToAll = (bytes: Buffer | string): void => {
    const length = framed(Buffer.byteLength(bytes));
    for (const response of plain) {
      counts.written += length;
      response.write(bytes);
    }
  };
  return {
    run,
    counts,
    open,
    append,
    untilSeen,
    ages: () => readers.ask<number[]>({ ages: true }, 'ages'),
    /** The next batch is committed while the one before is on its way, as on a busy run. */
    viaHub: async (ms: number): Promise<Slice> => {
      let seq = 0;
      const next = async (): Promise<number> => {
        await append(eventsAtOnce);
        return counts.appended;
      };
      let coming = next();
      const done = await slice(
        ms,
        async () => {
          seq = await coming;
          coming = next();
          await untilSeen(seq);
        },
        () => seq,
      );
      await untilSeen(await coming);
      return done;
    },
    /** The same bytes to every socket, again and again. */
    constant: async (ms: number) => {
      const [event] = await read(0);
      const bytes = Buffer.from(`id: 1000\ndata: ${JSON.stringify(event)}\n\n`.repeat(eventsAtOnce));
      return slice(ms, async () => {
        writeToAll(bytes);
        await new Promise((resolve) => setImmediate(resolve));
      });
    },
    /** What everybody does first: each watcher's events are made into text for it alone. */
    serialised: (ms: number) =>
      slice(ms, async () => {
        const after = counts.appended;
        await append(eventsAtOnce);
        const events = await read(after);
        for (const response of plain)
          for (const event of events) {
            const frame = `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
            counts.written += framed(Buffer.byteLength(frame));
            response.write(frame);
          }
      }),
    async stop(): Promise<void> {
      await hub.stop();
      readers.stop();
      http.closeAllConnections();
      await Promise.all([subscription.drain(), new Promise((resolve) => http.close(resolve))]);
    },
  };
}

const known = new WeakMap<Buffer, number>();
/** Of a batch: the very same bytes go to everybody, so they are looked into once. Undefined for a beat. */
function lastIdOf(bytes: Buffer): number | undefined {
  const found = known.get(bytes) ?? Number(/^id: (\d+)$/gm.exec(bytes.toString('latin1', Math.max(0, bytes.lastIndexOf('\nid: '))))?.[1]);
  if (!Number.isFinite(found)) return undefined;
  known.set(bytes, found);
  return found;
}
