import { Problem } from '@fluidbox/contracts';
import { contentAad, type SqlClient } from '@fluidbox/event-store';
import type { GateProjection, RecordedCall } from '@fluidbox/policy';
import type { Keyring, RunKeys } from '@fluidbox/seal';
import { dataOf } from './event-data';

const callPage = 100;
/** Decisions and completions of one run that are looked at. */
const factsMax = 50_000;

interface LedgerReader {
  readonly sql: SqlClient;
  readonly keyring: Pick<Keyring, 'keysOf'>;
}
interface CallRow {
  readonly seq: string;
  readonly event_id: string;
  readonly occurred_at: Date;
  readonly body: Buffer;
  readonly sealed: Buffer | null;
}

/** In their order, each with what came of it; `erased` or `unreadable` where nobody can say what it was. */
export async function* callsOf(
  { sql, keyring }: LedgerReader,
  org: string,
  stream: string,
): AsyncGenerator<RecordedCall | 'erased' | 'unreadable'> {
  const keys = await keysOf(keyring, stream);
  const facts = await factsOf(sql, org, stream);
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

async function keysOf(keyring: LedgerReader['keyring'], stream: string): Promise<RunKeys | null> {
  try {
    return await keyring.keysOf(stream);
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return null;
    throw error;
  }
}

async function factsOf(sql: SqlClient, org: string, stream: string): Promise<Map<string, { ran: boolean; ok: boolean | null }>> {
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
