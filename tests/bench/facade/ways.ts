import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { RunId, type RunSpec, runStream } from '@fluidbox/contracts';
import type { EventStore, Ledger } from '@fluidbox/event-store';
import { generateSigningKeyFiles, signRunToken } from '@fluidbox/seal';
import { startRun } from '../../../services/gate/src/app/running-run.fixture';
import type { Servers } from '../support/servers';
import { requestOf, streamBytes } from './answers';
import { type Answered, post, type Way, wayTo } from './load';
import { type Started, startFile, startPortkey } from './processes';

export interface Ways {
  readonly direct: Way;
  readonly ours: Way;
  readonly portkey: Way;
  readonly pipe: Way;
  /** A streamed answer of so many pieces, whole; every other length ends the bench. */
  stream(way: Way, caller: number, pieces: number, pace?: string): Promise<Answered>;
  /** New runs for what follows, so that a run is about as long as one of an agent. */
  renewRuns(): Promise<void>;
  /** Every request that went through us was booked, once, by the usage of the provider. */
  verify(): Promise<string>;
  stop(): Promise<void>;
}

const bookedWithinMs = 5_000;
const providerKey = 'sk-bench-0123456789abcdef';
const spec: Partial<RunSpec> = {
  model: 'claude-haiku-4-5',
  tool_surface: ['Bash'],
  price_table: {
    version: 'bench',
    digest: `sha256:${'a'.repeat(64)}` as RunSpec['price_table']['digest'],
    price: { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 },
  },
};
const harness = {
  id: 'claude-agent-sdk',
  image: 'claude-runner',
  dialect: 'anthropic_messages' as const,
  tool_names: {},
  no_effect_tools: [],
  refusal: { requiresErrorFlag: true, prefixes: ['<tool_use_error>'] },
  environment: {},
};

/** Each side in a process of its own: the provider, the facade on the Postgres and NATS of the bench, the peer, a blind pipe. */
export async function openWays(servers: Servers, callers: number): Promise<Ways> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-bench-facade-'));
  const started: Started[] = [];
  const keep = async (starting: Promise<Started>): Promise<string> => {
    const one = await starting;
    started.push(one);
    return one.url;
  };
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((one) => one.stop()));
    fs.rmSync(dir, { recursive: true, force: true });
  };
  try {
    const file = (name: string): string => path.join(dir, name);
    const key = generateSigningKeyFiles(file('token-key.pem'), file('token-keys.json'));
    fs.writeFileSync(file('provider-key'), providerKey, { mode: 0o600 });
    const provider = await keep(startFile('provider.ts'));
    const [facade, pipe, portkey] = [
      await keep(
        startFile('facade-process.ts', {
          ...servers.environment,
          FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: file('token-keys.json'),
          FLUIDBOX_ANTHROPIC_URL: provider,
          FLUIDBOX_ANTHROPIC_KEY_FILE: file('provider-key'),
          FLUIDBOX_LLM_PORT: '0',
        }),
      ),
      await keep(startFile('blind-pipe.ts', { BENCH_PROVIDER: provider })),
      await keep(startPortkey()),
    ];
    const { ledger, store } = await servers.context('runs');
    const runs = new Map<RunId, number>();
    let tokens: readonly { readonly runId: RunId; readonly token: string }[] = [];
    const newRun = async (): Promise<{ runId: RunId; token: string }> => {
      const runId = await beginRun(ledger);
      const expiresAt = new Date(Date.now() + 3_600_000);
      return {
        runId,
        token: await signRunToken(key, { audience: 'llm', runId, org: 'default', generation: 1, jti: randomUUID(), expiresAt }),
      };
    };
    const ours = wayTo(`${facade}/internal/llm/v1/messages`, (caller) => {
      const { runId, token } = tokens[caller % tokens.length] ?? { runId: RunId.parse(''), token: '' };
      runs.set(runId, (runs.get(runId) ?? 0) + 1);
      return { 'x-api-key': token };
    });
    const withKey = { 'x-api-key': providerKey, 'anthropic-version': '2023-06-01' };
    const toPortkey = {
      ...withKey,
      'x-portkey-provider': 'anthropic',
      'x-portkey-custom-host': `${provider}/v1`,
      authorization: `Bearer ${providerKey}`,
    };
    const requests = new Map<string, Buffer>();
    return {
      ours,
      direct: wayTo(`${provider}/v1/messages`, () => withKey),
      portkey: wayTo(`${portkey}/v1/messages`, () => toPortkey),
      pipe: wayTo(`${pipe}/v1/messages`, () => withKey),
      stream: async (way, caller, pieces, pace = 'flat') => {
        const kind = `${pieces} ${pace}`;
        const body = requests.get(kind) ?? requestOf({ stream: true, max_tokens: pieces, pace });
        requests.set(kind, body);
        const answer = await post(way, caller, body);
        if (answer.bytes !== streamBytes(pieces)) throw new Error(`${way.url.href}: ${answer.bytes} bytes of ${streamBytes(pieces)}`);
        return answer;
      },
      renewRuns: async () => {
        tokens = await Promise.all(Array.from({ length: callers }, newRun));
      },
      verify: () => verifySoon(store, runs),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function beginRun(ledger: Ledger): Promise<RunId> {
  const runId = RunId.parse(randomUUID());
  await startRun(ledger, { runId, now: Date.now(), maxToolCalls: 1_000, spec: { ...spec, harness } });
  return runId;
}

/** An answer without a call ends while it is booked, so the last ones may not be yet. */
async function verifySoon(store: EventStore, runs: ReadonlyMap<RunId, number>): Promise<string> {
  for (const until = Date.now() + bookedWithinMs; ; await pause(50)) {
    try {
      return await verify(store, runs);
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
}

async function verify(store: EventStore, runs: ReadonlyMap<RunId, number>): Promise<string> {
  let total = 0;
  for (const [runId, asked] of runs) {
    const counts = new Map<string, number>();
    for (let after = 0; ; ) {
      const page = await store.read(runStream(runId, 'default'), { after });
      if (page.length === 0) break;
      after = page.at(-1)?.seq ?? after;
      for (const { type, data } of page) {
        counts.set(type, (counts.get(type) ?? 0) + 1);
        if (type === 'budget.settled' && data.basis !== 'usage') throw new Error(`${runId}: a request was booked as ${String(data.basis)}`);
      }
    }
    for (const type of ['budget.reserved', 'budget.settled', 'model.response'])
      if (counts.get(type) !== asked) throw new Error(`${runId}: ${counts.get(type) ?? 0} ${type} for ${asked} requests`);
    total += asked;
  }
  return `${total} requests in ${runs.size} runs: each reserved, answered and settled once, by the usage of the provider`;
}
