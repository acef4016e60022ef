import { randomBytes } from 'node:crypto';
import {
  approvalIdOf,
  DecideApprovalBody,
  type EvaluateEdit,
  Problem,
  type ReplyOf,
  runStream,
  type ServiceName,
  type TimelineEvent,
} from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore } from '@fluidbox/event-store';
import { initialRun, runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';
import { createdRun, fakeClock, sequentialIds } from '@fluidbox/testing';
import { attendRun } from './attend-run';
import type { Ports } from './ports';
import { settleApproval } from './settle-approval';
import { draft, waitingCall } from './waiting-call.fixture';

const editedDigest = `sha256:${'b'.repeat(64)}`;
const runId = '0198b3a0-0000-7000-8000-000000000002';
const stream = runStream(runId, 'default');

/** The real use cases on a real ledger, in two processes' worth of caches; the gate's opinion is given by the test. */
async function world() {
  const clock = fakeClock();
  const ids = sequentialIds();
  const store = createMemoryStore();
  const keyring = createKekKeyring({ store, kek: kekFromBytes(randomBytes(32)), clock });
  const ledgerOf = (service: ServiceName) => createLedger({ store, keyring, clock, ids, service });
  const [runs, gate] = [ledgerOf('runs'), ledgerOf('gate')];
  let opinion: { verdict: 'allow' | 'ask' | 'deny'; reason: string; edited_digest: string } = {
    verdict: 'allow',
    reason: 'fine',
    edited_digest: editedDigest,
  };
  const portsOf = (): Ports => ({ ledger: ledgerOf('approvals'), clock, evaluateEdit: async () => opinion });
  const created = keyring.create(`run-${runId}`);
  await runs.decide(runFold, stream, () => ({
    createKeys: created,
    result: undefined,
    events: [
      draft('session.created', createdRun(runId), { task: 't', system_prompt: null }),
      draft('session.status_changed', { from: 'created', to: 'running', reason: 'sandbox_started' }),
    ],
  }));
  const ask = async (call: string, ttlMs = 600_000): Promise<string> => {
    await gate.record(stream, waitingCall(runId, call, clock.now().getTime() + ttlMs));
    return approvalIdOf(runId, call);
  };
  const decide = (ports: Ports, id: string, decision: string, by = 'grace', more = {}) =>
    settleApproval(ports, {
      org: 'default',
      approval_id: id,
      principal: { name: by, role: 'approver', org: 'default' },
      body: DecideApprovalBody.parse({ decision, ...more }),
    } as never);
  return {
    clock,
    portsOf,
    ask,
    decide,
    gate,
    gateSays: (next: typeof opinion) => {
      opinion = next;
    },
    windDown: () =>
      runs.record(stream, [
        draft('session.status_changed', { from: 'running', to: 'cancelling', reason: 'cancel_requested', outcome: 'cancelled' }),
      ]),
    events: async (type: string) => {
      const all: TimelineEvent[] = [];
      for (let page: readonly TimelineEvent[] | null = null; page === null || page.length > 0; all.push(...page))
        page = (await store.read(stream, { after: all.length, limit: 1_000 })) as readonly TimelineEvent[];
      return all.filter((event) => event.type === type);
    },
  };
}
const outcome = (settled: Promise<unknown>) =>
  settled.catch((error: unknown) => {
    if (!(error instanceof Problem)) throw error;
    return { refused: error.code, ...error.extra };
  });

describe('two people at once (H-AP-01)', () => {
  it('settles each of 50 approvals once; the other person learns how', async () => {
    const { portsOf, ask, decide, events } = await world();
    const [here, there] = [portsOf(), portsOf()];
    for (let round = 0; round < 50; round += 1) {
      const id = await ask(`toolu_${round}`);
      const both = await Promise.all([outcome(decide(here, id, 'approve')), outcome(decide(there, id, 'deny', 'bob'))]);
      const [won] = both.filter((answer) => !('refused' in (answer as object))) as { decision: string }[];
      const [lost] = both.filter((answer) => 'refused' in (answer as object));
      expect(lost).toMatchObject({ refused: 'approval_settled', decision: won?.decision });
    }
    expect(await events('approval.decided')).toHaveLength(50);
    expect(await events('tool.decision')).toHaveLength(50);
  });

  it('answers a repeat of the winning request as before', async () => {
    const { portsOf, ask, decide, events } = await world();
    const id = await ask('toolu_1');
    const first = await decide(portsOf(), id, 'approve');
    expect(await decide(portsOf(), id, 'approve')).toEqual(first);
    expect(await events('approval.decided')).toHaveLength(1);
  });
});

describe('editing', () => {
  it('never approves what the gate has not seen, though the approval came up in the moment between', async () => {
    const { portsOf, ask, decide, events } = await world();
    const id = await ask('toolu_1');
    const ports = portsOf();
    const nothingYet = async () => ({ state: initialRun(), version: 0 });
    const late: Ports = { ...ports, ledger: { ...ports.ledger, state: nothingYet as never } };
    expect(await outcome(decide(late, id, 'edit', 'grace', { input: { command: 'curl' } }))).toEqual({ refused: 'conflict' });
    expect(await events('approval.decided')).toHaveLength(0);
    expect(await decide(ports, id, 'edit', 'grace', { input: { command: 'ls' } })).toMatchObject({ decision: 'approved' });
  });

  it('approves the edited input, which the gate then reads from the event', async () => {
    const { portsOf, ask, decide, events, gate } = await world();
    const id = await ask('toolu_1');
    expect(await decide(portsOf(), id, 'edit', 'grace', { input: { command: 'ls' } })).toMatchObject({ decision: 'approved' });
    const [decided] = await events('approval.decided');
    expect(decided?.data).toMatchObject({ edited_digest: editedDigest });
    expect(await gate.content(stream, decided?.seq ?? 0, 'rest')).toMatchObject({ edited_input: { command: 'ls' } });
  });

  it('answers the same edit again, and nothing else as if it were the same', async () => {
    const { portsOf, ask, decide, events, gateSays } = await world();
    const id = await ask('toolu_1');
    const ports = portsOf();
    const first = await decide(ports, id, 'edit', 'grace', { input: { command: 'ls' } });
    expect(await decide(ports, id, 'edit', 'grace', { input: { command: 'ls' } })).toEqual(first);
    expect(await outcome(decide(ports, id, 'approve'))).toMatchObject({ refused: 'approval_settled', decision: 'approved' });
    gateSays({ verdict: 'allow', reason: '', edited_digest: `sha256:${'e'.repeat(64)}` });
    expect(await outcome(decide(ports, id, 'edit', 'grace', { input: { command: 'ls -l' } }))).toMatchObject({
      refused: 'approval_settled',
    });
    expect(await events('approval.decided')).toHaveLength(1);
  });

  it('that the gate judged by the run’s history is judged again when the run has moved on, and counts for what the gate says', async () => {
    const { portsOf, ask, decide, events, gate } = await world();
    const id = await ask('toolu_1');
    const ports = portsOf();
    const versions: number[] = [];
    const judged: Ports = {
      ...ports,
      evaluateEdit: async () => {
        const { version } = await gate.state(runFold, stream, { fresh: true });
        versions.push(version);
        // Another call comes in between the judgement and the decision, once.
        if (versions.length === 1) await ask('toolu_2');
        return { verdict: 'ask', reason: '', edited_digest: editedDigest, history: { matches: ['0.count'], at_version: version } };
      },
    };
    expect(await decide(judged, id, 'edit', 'grace', { input: { command: 'ls' } })).toMatchObject({ decision: 'approved' });
    expect(versions).toEqual([4, 6]);
    expect((await events('tool.decision')).map((event) => event.data)).toMatchObject([
      { edited_digest: editedDigest, matches: ['0.count'] },
    ]);
  });

  it('is refused when the run never stands still long enough to judge it', async () => {
    const { portsOf, ask, decide, events } = await world();
    const id = await ask('toolu_1');
    const stale: ReplyOf<typeof EvaluateEdit> = {
      verdict: 'ask',
      reason: '',
      edited_digest: editedDigest,
      history: { matches: [], at_version: 1 },
    };
    const ports: Ports = { ...portsOf(), evaluateEdit: async () => stale };
    expect(await outcome(decide(ports, id, 'edit', 'grace', { input: { command: 'ls' } }))).toEqual({ refused: 'conflict' });
    expect(await events('approval.decided')).toHaveLength(0);
  });

  it('is 422 when the gate denies it, and the approval stays pending', async () => {
    const { portsOf, ask, decide, events, gateSays } = await world();
    const id = await ask('toolu_1');
    gateSays({ verdict: 'deny', reason: 'rm is denied', edited_digest: editedDigest });
    expect(await outcome(decide(portsOf(), id, 'edit', 'grace', { input: { command: 'rm' } }))).toEqual({
      refused: 'edit_denied',
      reason: 'rm is denied',
    });
    expect(await outcome(decide(portsOf(), id, 'edit', 'grace', { input: { command: 'a\u0000b' } }))).toEqual({ refused: 'unprocessable' });
    expect(await events('approval.decided')).toHaveLength(0);
    expect(await decide(portsOf(), id, 'approve')).toMatchObject({ decision: 'approved' });
  });
});

describe('attending a run', () => {
  it('expires what is due and says when the next one is', async () => {
    const { clock, portsOf, ask, events } = await world();
    const ports = portsOf();
    await ask('toolu_1', 1_000);
    await ask('toolu_2', 5_000);
    const start = clock.now().getTime();
    expect(await attendRun(ports, stream, { atLeast: Number.POSITIVE_INFINITY })).toBe(start + 1_000);
    clock.advance(1_000);
    expect(await attendRun(ports, stream, { atLeast: 0 })).toBe(start + 5_000);
    expect((await events('approval.decided')).map((event) => event.data)).toMatchObject([
      { tool_call_id: 'toolu_1', decision: 'expired', decided_by: 'timeout' },
    ]);
  });

  it('refuses all of very many when the run winds down, in groups that the ledger takes', async () => {
    const { portsOf, ask, events, windDown } = await world();
    for (let i = 0; i < 530; i++) await ask(`toolu_${i}`);
    await windDown();
    expect(await attendRun(portsOf(), stream, { atLeast: 0 })).toBeNull();
    expect(await events('approval.decided')).toHaveLength(530);
    expect(await events('tool.decision')).toHaveLength(530);
  });

  it('refuses what is pending when the run winds down, and a late decision with it', async () => {
    const { portsOf, ask, decide, events, windDown } = await world();
    const id = await ask('toolu_1');
    await windDown();
    expect(await attendRun(portsOf(), stream, { atLeast: 0 })).toBeNull();
    expect(await outcome(decide(portsOf(), id, 'approve'))).toMatchObject({ refused: 'approval_settled', decision: 'refused' });
    expect((await events('tool.decision')).map((event) => event.data)).toMatchObject([{ verdict: 'deny', source: 'session_terminal' }]);
  });
});
