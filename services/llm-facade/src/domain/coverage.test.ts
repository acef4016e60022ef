import { createHash } from 'node:crypto';
import type { EventData } from '@fluidbox/contracts';
import { type CoverageMode, type CoverageRules, hasOpenCalls, judge, judgementEvents, type ToolResult } from './coverage';
import type { Given } from './runs.fixture';
import { decided, emitted, live, requested } from './runs.fixture';

const rules = (mode: CoverageMode = 'enforce'): CoverageRules => ({
  mode,
  noEffectTools: ['TaskOutput'],
  refusal: { requiresErrorFlag: true, prefixes: ['<tool_use_error>'] },
});
const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const result = (change: Partial<ToolResult> = {}): ToolResult => ({ toolCallId: 'c1', isError: false, textStart: 'ok', ...change });
const refused = result({ isError: true, textStart: '<tool_use_error>File has not been read yet</tool_use_error>' });
const types = (given: readonly Given[], results: readonly ToolResult[], mode?: CoverageMode): string[] =>
  judgementEvents(judge(live({}, ...given), results, rules(mode))).map(({ type, data }) => `${type} ${'class' in data ? data.class : ''}`);

describe('coverage of model calls', () => {
  it('is decided when the gate decided it, whichever event came first', () => {
    expect(types([emitted('c1'), requested('c1'), decided('c1')], [result()])).toEqual([]);
    expect(types([requested('c1'), decided('c1', 'deny'), emitted('c1')], [result({ isError: true })])).toEqual([]);
  });

  it('is a gap when a result comes back and nobody decided', () => {
    expect(types([emitted('c1')], [result()])).toEqual(['coverage.gap uncovered']);
    expect(types([emitted('c1')], [result({ isError: true, textStart: 'command not found' })])).toEqual(['coverage.gap uncovered']);
  });

  it('is a gap when the gate was asked and the result did not wait for its answer', () => {
    expect(types([emitted('c1'), requested('c1')], [result()])).toEqual(['coverage.gap uncovered']);
    expect(types([emitted('c1'), requested('c1')], [refused])).toEqual(['coverage.gap uncovered']);
  });

  it('is a gap when the gate was asked about another tool under the id of the call', () => {
    expect(types([emitted('c1', 'Bash'), requested('c1', 'Read'), decided('c1')], [result()])).toEqual(['coverage.gap uncovered']);
    expect(types([emitted('c1', 'Bash'), requested('c1', 'Read'), decided('c1')], [refused])).toEqual(['coverage.gap uncovered']);
    expect(types([emitted('c1', 'Read'), requested('c1', 'Read'), decided('c1')], [result()])).toEqual([]);
  });

  it('is a gap when the gate was asked about another input than the model wrote, or was not shown a part of it', () => {
    const model = emitted('c1', 'Bash', { command: digestOf('rm') });
    const judged = (fields: Record<string, string>) => types([model, requested('c1', 'Bash', fields), decided('c1')], [result()]);
    expect(judged({ command: digestOf('rm') })).toEqual([]);
    expect(judged({ command: digestOf('rm'), timeout: digestOf('5') })).toEqual([]);
    expect(judged({ command: digestOf('ls') })).toEqual(['coverage.gap uncovered']);
    expect(judged({})).toEqual(['coverage.gap uncovered']);
    // A person may make another input of it; what was asked is compared, and that is what the model wrote.
    const edited: Given = ['tool.decision', { ...decided('c1')[1], edited_digest: digestOf('ls') } as EventData<'tool.decision'>];
    expect(types([model, requested('c1', 'Bash', { command: digestOf('rm') }), edited], [result()])).toEqual([]);
  });

  it('is a gap when a denied call comes back without the mark of an error, where the harness has one', () => {
    const denied = [emitted('c1'), requested('c1'), decided('c1', 'deny')];
    expect(types(denied, [result()])).toEqual(['coverage.gap uncovered']);
    expect(types(denied, [result({ isError: true, textStart: 'denied by policy' })])).toEqual([]);
    const codex: CoverageRules = { ...rules(), refusal: { requiresErrorFlag: false, prefixes: [] } };
    expect(judge(live({}, ...denied), [result()], codex).gaps).toEqual([]);
  });

  it('is rejected_by_harness only in exactly the pinned shape', () => {
    expect(types([emitted('c1')], [refused])).toEqual(['model.tool_call_closed rejected_by_harness']);
    expect(types([emitted('c1')], [{ ...refused, isError: false }])).toEqual(['coverage.gap uncovered']);
    expect(types([emitted('c1')], [{ ...refused, textStart: ` ${refused.textStart}` }])).toEqual(['coverage.gap uncovered']);
  });

  it('accepts the shape without an error flag where the harness has none', () => {
    const codex: CoverageRules = { ...rules(), refusal: { requiresErrorFlag: false, prefixes: ['unsupported call'] } };
    expect(judge(live({}, emitted('c1')), [result({ textStart: 'unsupported call: x' })], codex).closed).toHaveLength(1);
  });

  it('is fatal also for a refusal under strict, and for nothing under report', () => {
    expect(types([emitted('c1')], [refused], 'strict')).toEqual([
      'model.tool_call_closed rejected_by_harness',
      'coverage.gap rejected_by_harness',
    ]);
    const reported = judge(live({}, emitted('c1')), [result()], rules('report'));
    expect(judgementEvents(reported)).toMatchObject([{ type: 'coverage.gap', data: { report_only: true } }]);
  });

  it('is no_effect for the tools of the harness row', () => {
    expect(types([emitted('c1', 'TaskOutput')], [result()])).toEqual(['model.tool_call_closed no_effect']);
  });

  it('ignores ids that our stream never emitted, and what is closed already', () => {
    expect(types([], [result({ toolCallId: 'invented' })])).toEqual([]);
    expect(
      types([emitted('c1'), ['model.tool_call_closed', { tool_call_id: 'c1', tool: 'Bash', class: 'rejected_by_harness' }]], [result()]),
    ).toEqual([]);
    expect(types([emitted('c1')], [result(), result()])).toEqual(['coverage.gap uncovered']);
  });

  it('has nothing to judge while every call is closed', () => {
    expect(hasOpenCalls(live({}, emitted('c1')))).toBe(true);
    expect(hasOpenCalls(live({}, emitted('c1'), requested('c1')))).toBe(true);
    expect(hasOpenCalls(live({}, emitted('c1'), requested('c1'), decided('c1')))).toBe(false);
    expect(hasOpenCalls(live({}, emitted('c1'), requested('c1', 'Read'), decided('c1')))).toBe(true);
    expect(hasOpenCalls(live({}, emitted('c1'), requested('c1'), decided('c1', 'deny')))).toBe(true);
  });
});
