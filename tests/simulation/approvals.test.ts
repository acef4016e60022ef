import { type Approvals, approvalWorld, type Death, type Gate } from './approval-world';

const deaths: readonly Death[] = ['before the append', 'after the commit'];
const allowed = { status: 'decided', answer: { decision: 'allow' } };
const pending = { status: 'pending' };

describe('a gate that is killed', () => {
  it.each(deaths)('%s, while it allows a call: the retry gets one decision, and the call is counted once', async (death) => {
    const { newRun, death: dead } = await approvalWorld();
    const { gate, events, state } = await newRun();
    void gate(death).ask('toolu_1', 'ls');
    await dead;
    expect(await events('tool.decision')).toHaveLength(death === 'after the commit' ? 1 : 0);
    expect(await gate().ask('toolu_1', 'ls')).toEqual(allowed);
    expect(await events('tool.requested')).toHaveLength(1);
    expect(await events('tool.decision')).toHaveLength(1);
    expect((await state()).calls.size).toBe(1);
    // Another input under the id that its dead answer belonged to is no retry.
    expect(await gate().ask('toolu_1', 'echo x')).toMatchObject({ answer: { code: 'protocol_violation' } });
  });

  it.each(deaths)(
    '[APPROVAL-2] H-AP-02 %s, while it asks a person: the retry attaches, one approval in all, the decision reaches it',
    async (death) => {
      const { newRun, death: dead } = await approvalWorld();
      const { gate, approvals, events } = await newRun();
      void gate(death).ask('toolu_1', 'git push');
      await dead;
      expect(await gate().ask('toolu_1', 'git push')).toMatchObject(pending);
      expect(await approvals().decide('toolu_1', 'approve')).toMatchObject({ decision: 'approved' });
      expect(await gate().ask('toolu_1', 'git push')).toEqual(allowed);
      expect(await events('approval.requested')).toHaveLength(1);
      expect(await events('approval.decided')).toHaveLength(1);
    },
  );
});

describe('an approvals service that is killed', () => {
  it.each(deaths)('%s, while a person decides: the person’s repeat is the same decision, another’s is told it', async (death) => {
    const { newRun, death: dead } = await approvalWorld();
    const { gate, approvals, events } = await newRun();
    await gate().ask('toolu_1', 'git push');
    void approvals(death).decide('toolu_1', 'deny', 'grace', { comment: 'not now' });
    await dead;
    expect(await gate().ask('toolu_1', 'git push')).toMatchObject(
      death === 'after the commit' ? { answer: { decision: 'deny', message: 'a person denied this call: not now' } } : pending,
    );
    expect(await approvals().decide('toolu_1', 'deny', 'grace', { comment: 'not now' })).toMatchObject({ decision: 'denied' });
    expect(await approvals().decide('toolu_1', 'approve', 'bob')).toMatchObject({
      refused: 'approval_settled',
      decision: 'denied',
      decided_by: 'grace',
    });
    expect(await events('approval.decided')).toHaveLength(1);
    expect(await events('tool.decision')).toHaveLength(1);
  });

  it.each(deaths)('%s, while it expires an approval: the next one finds it, once', async (death) => {
    const { newRun, clock, death: dead } = await approvalWorld();
    const { gate, approvals, events } = await newRun();
    await gate().ask('toolu_1', 'git push');
    clock.advance(600_000);
    void approvals(death).attend();
    await dead;
    expect(await approvals().attend()).toBeNull();
    expect((await events('approval.decided')).map(({ data }) => data)).toMatchObject([{ decision: 'expired' }]);
    expect(await events('tool.decision')).toHaveLength(1);
  });
});

describe('at the same moment', () => {
  /** Who comes first is the order of their appends; each round starts them in another one. */
  async function race(
    rounds: number,
    contenders: (run: { gate: Gate; here: Approvals; there: Approvals; round: number }) => (() => Promise<unknown>)[],
    ttl = 0,
  ) {
    const { newRun, clock } = await approvalWorld();
    const outcomes: string[] = [];
    for (let round = 0; round < rounds; round++) {
      const run = await newRun();
      const gate = run.gate();
      await gate.ask('toolu_1', 'git push');
      clock.advance(ttl);
      const all = contenders({ gate, here: run.approvals(), there: run.approvals(), round });
      await Promise.all((round % 2 ? all : all.reverse()).map((each) => each()));
      const decided = await run.events('approval.decided');
      const decisions = await run.events('tool.decision');
      expect([decided.length, decisions.length]).toEqual([1, 1]);
      const [settled] = decided.map(({ data }) => data as { decision: string });
      const [decision] = decisions.map(({ data }) => data as { verdict: string });
      expect(decision?.verdict).toBe(settled?.decision === 'approved' ? 'allow' : 'deny');
      expect(await run.gate().ask('toolu_1', 'git push')).toMatchObject({ answer: { decision: decision?.verdict } });
      outcomes.push(settled?.decision ?? '');
    }
    return outcomes;
  }

  it('H-AP-01 two people decide: one wins in each of 50 rounds, the loser is told, the call gets that decision', async () => {
    const answers: unknown[][] = [];
    const outcomes = await race(50, ({ here, there }) => {
      const round: unknown[] = [];
      answers.push(round);
      return [
        async () => round.push(await here.decide('toolu_1', 'approve', 'ann')),
        async () => round.push(await there.decide('toolu_1', 'deny', 'bob')),
      ];
    });
    expect(new Set(outcomes)).toEqual(new Set(['approved', 'denied']));
    for (const [index, round] of answers.entries()) {
      const lost = round.filter((answer) => 'refused' in (answer as object));
      expect(lost).toEqual([expect.objectContaining({ refused: 'approval_settled', decision: outcomes[index] })]);
    }
  });

  it('[APPROVAL-3] a person decides and the approval expires: at the moment of expiry nobody’s yes counts, whoever comes first', async () => {
    const outcomes = await race(20, ({ here, there }) => [() => here.decide('toolu_1', 'approve'), () => there.attend()], 600_000);
    expect(new Set(outcomes)).toEqual(new Set(['expired']));
  });

  it('a person decides a moment before: the timer that fires meanwhile changes nothing', async () => {
    const outcomes = await race(20, ({ here, there }) => [() => here.decide('toolu_1', 'approve'), () => there.attend()], 599_999);
    expect(new Set(outcomes)).toEqual(new Set(['approved']));
  });
});

describe('whose word counts', () => {
  it('H-AP-03 a yes for the rest of the run is for that run: another asks, and nothing of it is left when the run has ended', async () => {
    const { newRun } = await approvalWorld();
    const [before, a, after] = [await newRun(), await newRun(), await newRun()];
    await a.gate().ask('toolu_1', 'git push');
    await a.approvals().decide('toolu_1', 'approve_session');
    expect(await a.gate().ask('toolu_2', 'git push origin main')).toEqual(allowed);
    expect((await a.events('tool.decision')).at(-1)?.data).toMatchObject({
      source: 'session_grant',
      approval_id: `apr_${a.runId}_toolu_1`,
    });
    for (const other of [before, after]) {
      expect(await other.gate().ask('toolu_1', 'git push origin main')).toMatchObject({
        ...pending,
        approval_id: `apr_${other.runId}_toolu_1`,
      });
    }
    await a.end();
    expect(await a.gate().ask('toolu_3', 'git push origin main')).toMatchObject({ answer: { decision: 'deny', code: 'session_terminal' } });
  });

  it('H-AP-04 a caller that stops waiting says nothing: the approval stays pending, and a later yes reaches the next ask', async () => {
    const { newRun, clock } = await approvalWorld();
    const { gate, approvals, events } = await newRun();
    await gate().ask('toolu_1', 'git push');
    const stored = (await events()).length;
    // Its connection closes after 5 s; the gate hears nothing of it, and the timer looks in between.
    clock.advance(5_000);
    await approvals().attend();
    clock.advance(25_000);
    expect((await events()).length).toBe(stored);
    expect(await approvals().decide('toolu_1', 'approve')).toMatchObject({ decision: 'approved' });
    expect(await gate().ask('toolu_1', 'git push')).toEqual(allowed);
  });

  it('a yes that comes after the run has ended settles nothing and starts nothing', async () => {
    const { newRun } = await approvalWorld();
    const { gate, approvals, events, end } = await newRun();
    await gate().ask('toolu_1', 'git push');
    await approvals().decide('toolu_1', 'approve');
    await gate().ask('toolu_2', 'git push origin b');
    await end();
    const stored = (await events()).length;
    expect(await approvals().decide('toolu_2', 'approve')).toMatchObject({ refused: 'approval_settled' });
    // What was allowed and not fetched before the end must not start after it.
    expect(await gate().ask('toolu_1', 'git push')).toMatchObject({ answer: { code: 'session_terminal' } });
    expect((await events()).length).toBe(stored);
  });
});
