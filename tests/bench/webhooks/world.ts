import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { CreateWebhook, type EventDraft, runStream, type StreamRef, TestWebhook } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { generateKekFile, generateSigningKeyFiles } from '@fluidbox/seal';
import { createdRun } from '@fluidbox/testing';
import type { Servers } from '../support/servers';
import { type ServiceProcess, startServiceProcess } from '../support/service-process';

/** What delivery takes without saying that it has too much in hand. */
const atOnce = 8;
const admin = { name: 'ada', role: 'admin', org: 'default' } as const;

/** Delivery and projector as processes of their own; this process is the owner of the runs and all receivers. */
export interface WebhookWorld {
  /** Where a bare loop posts to. */
  readonly url: string;
  /** A webhook for results whose receiver answers 204, or never. */
  subscribe(receiver: 'answers' | 'silent'): Promise<string>;
  /** A run that can be ended. */
  newRun(): Promise<StreamRef>;
  /** Commits the end of the run. */
  end(run: StreamRef): Promise<void>;
  /** `count` messages to one receiver, as a person tests it. */
  test(webhookId: string, count: number): Promise<void>;
  /** Calls `heard` with the run of a result, once for each receiver that answers. */
  onResult(heard: (run: string) => void): void;
  /** Results that came so far with their head signed, and those that came without. */
  readonly heads: { signed: number; unsigned: number };
  readonly attemptsAtSilent: () => number;
  stop(): Promise<void>;
}

export async function startWebhookWorld(servers: Servers): Promise<WebhookWorld> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-webhooks-'));
  const heads = { signed: 0, unsigned: 0 };
  const seen = new Set<string>();
  let silentAttempts = 0;
  let listener: (run: string) => void = () => undefined;
  const receiver = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url?.startsWith('/silent')) {
        silentAttempts += 1;
        return;
      }
      response.writeHead(204).end();
      const id = String(request.headers['webhook-id'] ?? '');
      if (id === '' || seen.has(id)) return;
      seen.add(id);
      const message = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        type: string;
        data: { run_id: string; head: { jws: unknown } };
      };
      if (message.type !== 'run.result') return;
      heads[typeof message.data.head.jws === 'string' ? 'signed' : 'unsigned'] += 1;
      listener(message.data.run_id);
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const processes: ServiceProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(processes.map((each) => each.end()));
    receiver.close();
    receiver.closeAllConnections();
    fs.rmSync(dir, { recursive: true, force: true });
  };
  try {
    generateKekFile(path.join(dir, 'delivery'));
    generateSigningKeyFiles(path.join(dir, 'ledger.pem'), path.join(dir, 'keys.json'));
    const environment = {
      ...servers.environment,
      FLUIDBOX_DELIVERY_KEY_FILE: path.join(dir, 'delivery'),
      FLUIDBOX_LEDGER_KEY_FILE: path.join(dir, 'ledger.pem'),
      FLUIDBOX_WEBHOOK_PRIVATE_HOSTS: host,
    };
    for (const name of ['projector', 'delivery'] as const) processes.push(await startServiceProcess(name, environment));
  } catch (error) {
    await stop();
    throw error;
  }
  const [runs, gateway] = [await servers.context('runs'), await servers.context('gateway')];
  const created = (stream: StreamRef): EventDraft[] => [
    { type: 'session.created', actor: 'principal:ada', data: createdRun(stream.id) },
    { type: 'lease.granted', actor: 'service:runs', data: { generation: 1, valid_until: '2026-11-29T12:15:00.000Z' } },
  ];
  return {
    url: `http://${host}/bare`,
    heads,
    attemptsAtSilent: () => silentAttempts,
    stop,
    subscribe: async (kind) => {
      const url = `http://${host}/${kind}/${randomUUID()}`;
      const { id } = await gateway.bus.request(CreateWebhook, { principal: admin, body: { url, events: ['run.result'] } });
      return id;
    },
    newRun: async () => {
      const stream = runStream(randomUUID(), 'default');
      await runs.ledger.decide(runFold, stream, () => ({ events: created(stream), result: undefined }));
      return stream;
    },
    end: async (stream) => {
      await runs.ledger.record(stream, [result]);
    },
    test: async (webhookId, count) => {
      const one = () => gateway.bus.request(TestWebhook, { principal: admin, webhook_id: webhookId });
      for (let left = count; left > 0; left -= atOnce) await Promise.all(Array.from({ length: Math.min(atOnce, left) }, one));
    },
    onResult: (heard) => {
      listener = heard;
    },
  };
}

const result: EventDraft = {
  type: 'run.result',
  actor: 'service:runs',
  data: {
    outcome: 'completed',
    reason: 'runner_result',
    coverage: 'full',
    calls: { model: 0, decided: 0, rejected_by_harness: 0, no_effect: 0, provider_executed: 0, uncovered: 0, unknown: 0 },
    decisions: { allow: 0, deny: 0, ask: 0 },
    usage: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 },
    cost_micro_usd: 5,
    diff_sha256: null,
    duration_ms: 7,
  },
};

/** The ends of runs and who heard of them when. */
export class Endings {
  readonly #waiting = new Map<string, { readonly wanted: number; readonly times: number[]; readonly done: (times: number[]) => void }>();

  constructor(private readonly world: WebhookWorld) {
    world.onResult((run) => {
      const waiting = this.#waiting.get(run);
      if (waiting === undefined || waiting.times.push(performance.now()) < waiting.wanted) return;
      this.#waiting.delete(run);
      waiting.done(waiting.times);
    });
  }

  /** Ends the run; answers how long after the commit each receiver that answers had it, in milliseconds. A message that comes before the answer to the commit counts as 0. */
  async end(run: StreamRef, receivers: number): Promise<number[]> {
    const heard = new Promise<number[]>((done) => this.#waiting.set(run.id, { wanted: receivers, times: [], done }));
    await this.world.end(run);
    const committed = performance.now();
    return (await heard).map((at) => Math.max(0, at - committed));
  }
}
