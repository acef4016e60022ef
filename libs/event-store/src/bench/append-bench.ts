/**
 * By hand: `node libs/event-store/dist/bench/append-bench.js postgres://postgres@127.0.0.1:PORT/postgres [callers] [seconds]`.
 * Appends as the role of gate, chained and redacted, each caller on its own run; checks every chain afterwards and prints events per second.
 */
import { randomUUID } from 'node:crypto';
import { runStream, type ServiceName, type StreamRef, serviceNames } from '@fluidbox/contracts';
import pg from 'pg';
import { verifyChain } from '../domain/chain';
import { migrate } from '../postgres/migrate';
import { createPostgresStore } from '../postgres/postgres-store';
import { prepareEvent } from '../prepare';

const clock = { now: () => new Date() };

async function main(adminUrl: string, callers: number, seconds: number): Promise<void> {
  const database = `bench_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  await admin.query(`create database ${database}`);
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  const passwords = Object.fromEntries(serviceNames.map((name) => [name, 'bench'])) as Record<ServiceName, string>;
  const { roles } = await migrate({ databaseUrl: url.href, passwords, rolePrefix: 'fluidbox_bench_' });
  url.username = roles.gate;
  url.password = 'bench';
  const store = createPostgresStore({ url: url.href });
  try {
    const latencies: number[] = [];
    let events = 0;
    let until = 0;
    const caller = async (stream: StreamRef): Promise<void> => {
      for (let version = (await store.head(stream))?.version ?? 0; performance.now() < until; version += 1) {
        const started = performance.now();
        const event = prepareEvent(
          {
            type: 'tool.decision',
            data: {
              tool_call_id: `call_${version}`,
              tool: 'Bash',
              verdict: 'allow',
              source: 'policy',
              input_digest: `sha256:${'ab'.repeat(32)}`,
              code: 'policy_allow',
              rule: { index: 3, line: 12 },
              policy_digest: `sha256:${'cd'.repeat(32)}`,
              engine_version: '1',
            },
            actor: 'service:gate',
          },
          { stream, keys: null, clock, ids: { uuid: timeOrdered } },
        );
        const [result] = await store.append([{ stream, expected: version, events: [event] }]);
        if (result?.ok !== true) throw new Error(`append failed: ${JSON.stringify(result)}`);
        latencies.push(performance.now() - started);
        events += 1;
      }
    };
    const streams = Array.from({ length: callers }, () => runStream(randomUUID(), 'default'));
    const run = async (ms: number): Promise<void> => {
      events = 0;
      latencies.length = 0;
      until = performance.now() + ms;
      await Promise.all(streams.map(caller));
    };
    await run(500);
    const cpu = process.cpuUsage();
    await run(seconds * 1_000);
    const used = process.cpuUsage(cpu);
    latencies.sort((a, b) => a - b);
    const at = (q: number): string => (latencies[Math.floor(latencies.length * q)] ?? 0).toFixed(2);
    console.log(
      `${callers} callers: ${Math.round(events / seconds)} events/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, client CPU ${((used.user + used.system) / events).toFixed(0)} us/event`,
    );
    for (const stream of streams.slice(0, 4)) {
      const rows = [];
      for (;;) {
        const page = await store.readWithHashes(stream, { after: rows.length });
        rows.push(...page);
        if (page.length === 0) break;
      }
      const check = verifyChain(rows);
      if (!check.ok || check.hash !== (await store.head(stream))?.hash) throw new Error(`chain of ${stream.id}: ${JSON.stringify(check)}`);
    }
    console.log('chains verified');
  } finally {
    await store.close();
    await admin.query(`drop database ${database} with (force)`);
    await admin.end();
  }
}

/** UUIDv7: the event index grows at its end. */
function timeOrdered(): string {
  const random = randomUUID();
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
}

const [adminUrl, callers, seconds] = process.argv.slice(2);
if (adminUrl === undefined) throw new Error('usage: append-bench.js ADMIN_URL [callers] [seconds]');
void main(adminUrl, Number(callers ?? 64), Number(seconds ?? 3));
