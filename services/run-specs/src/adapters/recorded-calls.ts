import { LedgerBody, Problem } from '@fluidbox/contracts';
import { contentAad, type SqlClient } from '@fluidbox/event-store';
import type { GateProjection, RecordedCall } from '@fluidbox/policy';
import type { Keyring, RunKeys } from '@fluidbox/seal';
import type { CallHistory, HistorySeen } from '../app/ports';

/** Shorter than the caller waits, so that it gets what was found so far. */
const readMs = 15_000;
/** Each holds a page of opened calls; the others are told to come again. */
const readersMax = 2;
const indexPage = 2_000;
const callPage = 100;
/** Bounds how far back a filter makes us look. */
const indexPagesMax = 100;
/** Decisions and completions of one run that are looked at. */
const factsMax = 50_000;

interface CallRow {
  readonly seq: string;
  readonly event_id: string;
  readonly occurred_at: Date;
  readonly body: Buffer;
  readonly sealed: Buffer | null;
}
const dataOf = (body: Buffer): Record<string, unknown> => LedgerBody.parse(JSON.parse(body.toString('utf8'))).data;

/** `ledger.events` by the index of recorded calls, their sealed projections opened with the keys of each run. */
export function recordedCalls(sql: SqlClient, keyring: Pick<Keyring, 'keysOf'>): CallHistory {
  let readers = 0;
  return {
    async *read(org, wanted, seen) {
      if (readers >= readersMax) throw new Problem('overloaded', 'others read the history of calls already; ask again in a moment');
      readers++;
      try {
        yield* readUntil(performance.now() + readMs, org, wanted, seen);
      } finally {
        readers--;
      }
    },
  };

  async function* readUntil(
    deadline: number,
    org: string,
    wanted: Parameters<CallHistory['read']>[1],
    seen: HistorySeen,
  ): AsyncGenerator<RecordedCall> {
    let left = wanted.calls;
    for await (const stream of runsWithCalls(deadline, org, wanted, seen)) {
      seen.runs++;
      for await (const call of callsOf(org, stream)) {
        if (left <= 0) return;
        left--;
        if (typeof call === 'string') seen[call]++;
        else yield call;
        if (performance.now() > deadline) {
          seen.complete = false;
          return;
        }
      }
      if (left <= 0) return;
    }
  }

  /** Streams of runs, that of the newest call first. */
  async function* runsWithCalls(
    deadline: number,
    org: string,
    { since, ofPolicy }: Parameters<CallHistory['read']>[1],
    seen: HistorySeen,
  ): AsyncGenerator<string> {
    const known = new Set<string>();
    let before = Number.MAX_SAFE_INTEGER;
    for (let page = 0; ; page++) {
      const { rows } = await sql.query<{ stream: string; global_position: string }>(
        `select stream, global_position from ledger.events
         where org_id = $1 and type = 'tool.requested' and global_position < $2 and ($3::timestamptz is null or occurred_at >= $3)
         order by global_position desc limit $4`,
        [org, before, since, indexPage],
      );
      const fresh = [...new Set(rows.map((row) => row.stream))].filter((stream) => !known.has(stream));
      for (const stream of fresh) known.add(stream);
      yield* ofPolicy === null ? fresh : await ranUnder(org, fresh, ofPolicy);
      const last = rows.at(-1);
      if (last === undefined || rows.length < indexPage) return;
      before = Number(last.global_position);
      if (page + 1 >= indexPagesMax || performance.now() > deadline) {
        seen.complete = false;
        return;
      }
    }
  }

  async function ranUnder(org: string, streams: readonly string[], policy: string): Promise<string[]> {
    const { rows } = await sql.query<{ stream: string; body: Buffer }>(
      'select stream, body from ledger.events where stream = any ($1) and org_id = $2 and seq = 1',
      [streams, org],
    );
    const under = new Set(rows.filter((row) => dataOf(row.body).policy === policy).map((row) => row.stream));
    return streams.filter((stream) => under.has(stream));
  }

  async function* callsOf(org: string, stream: string): AsyncGenerator<RecordedCall | 'erased' | 'unreadable'> {
    const keys = await keysOf(stream);
    const facts = await factsOf(org, stream);
    for (let after = 0; ; ) {
      const { rows } = await sql.query<CallRow>(
        `select e.seq, e.event_id, e.occurred_at, e.body, c.sealed from ledger.events e
         left join ledger.content c on c.stream = e.stream and c.seq = e.seq and c.class = 'projection' and c.org_id = e.org_id
         where e.stream = $1 and e.org_id = $2 and e.type = 'tool.requested' and e.seq > $3 order by e.seq limit $4`,
        [stream, org, after, callPage],
      );
      for (const row of rows) {
        const callId = String(dataOf(row.body).tool_call_id);
        const projection =
          row.sealed === null || keys === null ? 'erased' : opened(keys, row.sealed, contentAad(org, stream, 'projection', row.event_id));
        yield typeof projection === 'string'
          ? projection
          : {
              projection,
              run: stream.slice('run-'.length),
              callId,
              at: row.occurred_at.getTime(),
              ...(facts.get(callId) ?? { ran: false, ok: null }),
            };
      }
      if (rows.length < callPage) return;
      after = Number(rows.at(-1)?.seq);
    }
  }

  async function keysOf(stream: string): Promise<RunKeys | null> {
    try {
      return await keyring.keysOf(stream);
    } catch (error) {
      if (error instanceof Problem && error.code === 'not_found') return null;
      throw error;
    }
  }

  async function factsOf(org: string, stream: string): Promise<Map<string, { ran: boolean; ok: boolean | null }>> {
    const { rows } = await sql.query<{ type: string; body: Buffer }>(
      `select type, body from ledger.events where stream = $1 and org_id = $2 and type in ('tool.decision', 'tool.completed') order by seq limit $3`,
      [stream, org, factsMax],
    );
    const facts = new Map<string, { ran: boolean; ok: boolean | null }>();
    for (const { type, body } of rows) {
      const data = dataOf(body);
      const id = String(data.tool_call_id);
      const known = facts.get(id) ?? { ran: false, ok: null };
      facts.set(id, type === 'tool.decision' ? { ...known, ran: data.verdict === 'allow' } : { ...known, ok: data.ok === true });
    }
    return facts;
  }
}

/** What was sealed then: of this version of the engine or one that wrote the same shape, else nobody can read it. */
function opened(keys: RunKeys, sealed: Buffer, aad: string): GateProjection | 'erased' | 'unreadable' {
  try {
    const plain = keys.open('projection', sealed, aad);
    if (plain === null) return 'erased';
    const value: unknown = JSON.parse(plain.toString('utf8'));
    return isProjection(value) ? value : 'unreadable';
  } catch {
    return 'unreadable';
  }
}

function isProjection(value: unknown): value is GateProjection {
  if (value === null || typeof value !== 'object') return false;
  const { engine, tool, cwd, paths, shell, hosts, args } = value as Partial<Record<keyof GateProjection, unknown>>;
  return (
    [engine, tool, cwd].every((text) => typeof text === 'string') &&
    Array.isArray(paths) &&
    Array.isArray(hosts) &&
    args !== null &&
    typeof args === 'object' &&
    (shell === null || (typeof shell === 'object' && 'commands' in shell && Array.isArray(shell.commands)))
  );
}
