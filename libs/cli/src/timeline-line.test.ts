import { type ApprovalView, type EventView, eventTypes } from '@fluidbox/contracts';
import { approvalCard } from './demo/decide';
import { table } from './output';
import { oneLine, paintFor, plain, wrapped } from './paint';
import { lastWords, timelineLine } from './timeline-line';

const event = (type: string, data: Record<string, unknown>, content: Record<string, unknown> | null = null): EventView => ({
  seq: 7,
  type,
  version: 1,
  actor: 'service:gate',
  occurred_at: '2026-11-29T10:00:01.500Z',
  data,
  content,
  hash: '0',
});
const noColour = paintFor({ isTTY: false }, {});
const startedAt = Date.parse('2026-11-29T10:00:00.000Z');

describe('a line of the timeline', () => {
  it('says what was denied and why', () => {
    const line = timelineLine(
      event('tool.decision', { tool: 'Bash', verdict: 'deny', source: 'policy' }, { reason: 'curl is denied', message: 'x' }),
      startedAt,
      noColour,
    );
    expect(line).toBe('   7    1.5s  tool.decision            DENY Bash by policy curl is denied');
  });

  it('says that content was erased instead of showing a text that nobody wrote', () => {
    const said = (type: string, content: Record<string, unknown> | null) =>
      timelineLine(event(type, { tool: 'Bash' }, content), startedAt, noColour)?.slice(39);
    expect(said('agent.message', null)).toBe('(content erased)');
    expect(said('agent.message', { text: 'done' })).toBe('“done”');
    expect(said('tool.requested', null)).toBe('Bash (content erased)');
    expect(said('tool.requested', { summary: 'Bash: ls' })).toBe('Bash ls');
    const waits = { tool: 'Bash', scope_digest: 'sha256:0', expires_at: 'noon' };
    const asked = (data: Record<string, unknown>, content: Record<string, unknown> | null) =>
      timelineLine(event('approval.requested', data, content), startedAt, noColour)?.slice(39);
    expect(asked(waits, { scope_key: 'Bash:git push' })).toBe('WAITS FOR A PERSON Bash · key Bash:git push · until noon');
    expect(asked(waits, null)).toBe('WAITS FOR A PERSON Bash · key (content erased) · until noon');
    expect(asked({ ...waits, scope_key: 'Bash:git fetch' }, null)).toContain('key Bash:git fetch');
  });

  it('says why and until when a run is asked to stop, and which guard spoke', () => {
    const said = (type: string, data: Record<string, unknown>) => timelineLine(event(type, data), startedAt, noColour)?.slice(39);
    expect(said('run.quiesce_requested', { reason: 'budget', deadline_at: '2026-11-29T10:00:30.000Z' })).toBe(
      'budget · until 2026-11-29T10:00:30.000Z',
    );
    expect(said('guard.tripped', { guard: 'same_call', count: 10, limit: 5 })).toBe('same_call 10 of 5');
    expect(said('approval.voted', { decision: 'approve', by: 'ann' })).toBe('approve by ann, more people have to agree');
  });

  it('names the account that several runs spend from', () => {
    const spent = { budget: 'cost_micro_usd', spent: 90, limit: 100 };
    const said = (data: object) => timelineLine(event('budget.warned', { ...spent, ...data }), startedAt, noColour);
    expect(said({})).toContain('cost_micro_usd 90 of 100');
    expect(said({ account: { scope: 'agent:fixer', period: '2026-11' } })).toContain('cost_micro_usd of agent:fixer (2026-11) 90 of 100');
  });

  it('says of a call that an observing policy let pass what it would have been', () => {
    const decision = { tool: 'Bash', verdict: 'allow', source: 'observe', original_verdict: 'deny' };
    const line = timelineLine(event('tool.decision', decision, { reason: 'curl is denied' }), startedAt, noColour);
    expect(line).toContain('WOULD DENY Bash let pass, the policy only observes curl is denied');
    expect(timelineLine(event('tool.decision', { ...decision, source: 'policy' }), startedAt, noColour)).not.toContain('WOULD');
  });

  it('leaves bookkeeping out and shows an event it does not know as it is', () => {
    expect(timelineLine(event('lease.granted', { generation: 1 }), startedAt, noColour)).toBeNull();
    expect(timelineLine(event('something.newer', { x: 1 }), startedAt, noColour)).toContain('{"x":1}');
  });

  it('never lets text of an agent steer the terminal', () => {
    const hostile = '\u001b]0;owned\u0007\u001b[2J\u202egnp.exe\u200b';
    const line = timelineLine(event('agent.message', { role: 'assistant' }, { text: hostile }), startedAt, noColour) ?? '';
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(line).toContain('\\u001b');
    expect(plain('tab\tand\nline stay')).toBe('tab\tand\nline stay');
  });

  it('never lets a name steer the terminal or begin a line of its own, whichever event and field it stands in', () => {
    const hostile = 'Bash\u001b[2J\u009b1A\n   8    1.5s  run.result  completed\u202e';
    const fields = [
      'tool',
      'source',
      'scope_key',
      'decision',
      'decided_by',
      'scope',
      'agent',
      'name',
      'kind',
      'reason',
      'model',
      'class',
      'code',
    ];
    const data = { verdict: 'deny', isolation: { limits: hostile }, ...Object.fromEntries(fields.map((field) => [field, hostile])) };
    for (const type of Object.keys(eventTypes)) {
      const line = timelineLine(event(type, data), startedAt, noColour) ?? '';
      // Only a text that was wrapped goes on below, and then it is indented.
      expect(line.replaceAll(/\n {39}/g, '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
    expect(timelineLine(event('tool.requested', data), startedAt, noColour)).toContain('Bash\\u001b[2J');
    expect(table([['KEY'], [hostile]]).split('\n')).toHaveLength(2);
    expect(table([['KEY'], [hostile]]).replace('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(
      approvalCard({
        tool: hostile,
        input: {},
        reason: hostile,
        scope_key: hostile,
        input_digest: '',
        expires_at: '',
      } as unknown as ApprovalView).join(''),
    ).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('colours only for a terminal without NO_COLOR', () => {
    expect(paintFor({ isTTY: true }, {}).red('x')).not.toBe('x');
    expect(paintFor({ isTTY: true }, { NO_COLOR: '1' }).red('x')).toBe('x');
    expect(paintFor({}, {}).red('x')).toBe('x');
  });

  it('says why there is no diff, and what went wrong as long as that is there', () => {
    const said = (content: Record<string, unknown> | null) =>
      timelineLine(event('artifact.missing', { kind: 'diff', reason: 'the diff could not be made' }, content), startedAt, noColour)?.slice(
        39,
      );
    expect(said({ detail: 'a/b cannot be read' })).toBe('diff: the diff could not be made · a/b cannot be read');
    expect(said(null)).toBe('diff: the diff could not be made');
  });

  it('says why a sandbox ended that should not have', () => {
    const exited = (data: Record<string, unknown>, stderr_tail: string) =>
      timelineLine(event('sandbox.exited', { cause: 'exited', exit_code: 1, ...data }, { stderr_tail }), startedAt, noColour);
    expect(exited({}, 'noise\n/a.js:3\n^\n\nError: no such harness\n    at x (a.js:1)\n  code: 1\n}\n\nNode.js v20.1.0\n')).toContain(
      'exited · exit 1 · Error: no such harness',
    );
    expect(exited({ exit_code: 0 }, 'a warning')).not.toContain('warning');
    expect(exited({ cause: 'stopped', exit_code: 143 }, 'a warning')).not.toContain('warning');
    expect(lastWords('  only this\n')).toBe('only this');
    expect(lastWords('')).toBe('');
  });

  it('says an error in full and a message of 400 characters to its end, in lines', () => {
    const long = `${'word '.repeat(70)}END`;
    for (const line of [
      timelineLine(event('run.error', { code: 'workspace_failed' }, { message: long.repeat(3) }), startedAt, noColour),
      timelineLine(event('agent.message', {}, { text: long }), startedAt, noColour),
    ]) {
      expect(line).toMatch(/END”?$/);
      expect(line?.split('\n').every((part) => part.length <= 39 + 111)).toBe(true);
    }
  });

  it('says that a person edited the input, and the comment', () => {
    const data = { decision: 'approved', decided_by: 'alice', scope: 'once' };
    const said = (more: object, content: Record<string, unknown>) =>
      timelineLine(event('approval.decided', { ...data, ...more }, content), startedAt, noColour);
    const edited = said({ edited_digest: 'sha256:0' }, { comment: 'safer', edited_input: { command: 'ls' } });
    expect(edited).toContain('approved edited by alice (once): {"command":"ls"} · “safer”');
    expect(said({}, { comment: null, edited_input: null })).toMatch(/approved by alice \(once\)$/);
  });

  it('wraps at spaces, and inside a word only when it is longer than the line', () => {
    expect(wrapped('aa bb cc', 5)).toEqual(['aa bb', 'cc']);
    expect(wrapped('x'.repeat(12), 5)).toEqual(['xxxxx', 'xxxxx', 'xx']);
    expect(wrapped('', 5)).toEqual(['']);
  });

  it('cuts a long text to its width', () => {
    expect(oneLine('a  b\n c', 10)).toBe('a b c');
    expect(oneLine('x'.repeat(50), 10)).toHaveLength(10);
  });
});
