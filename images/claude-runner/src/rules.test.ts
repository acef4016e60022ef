import { EndOfConversation } from './end-of-conversation';
import { readMessage } from './messages';
import { outcomeOf } from './outcome';
import { summaryOf } from './tool-summary';
import { toCanonical } from './vocabulary';
import { Witness } from './witness';

describe('the vocabulary', () => {
  const canonical = (tool: string, input: Record<string, unknown>) => toCanonical(tool, input, '/workspace', '/home/agent');

  it("translates the program's second name of a tool", () => {
    expect(canonical('Task', { prompt: 'x' })).toEqual({ tool: 'Agent', input: { prompt: 'x' } });
    expect(canonical('Bash', { command: 'ls' })).toEqual({ tool: 'Bash', input: { command: 'ls' } });
  });
  it.each([
    ['/workspace/a', '/workspace/a'],
    ['a/b', '/workspace/a/b'],
    ['../etc/passwd', '/etc/passwd'],
    ['/workspace/../etc/passwd', '/etc/passwd'],
    ['~/.bashrc', '/home/agent/.bashrc'],
    ['~', '/home/agent'],
    [' /workspace/.env ', '/workspace/.env'],
    ['caf\u0065\u0301', '/workspace/caf\u00e9'],
    ['', ''],
  ])('makes the path %j absolute: %s', (value, path) => {
    expect(canonical('Read', { file_path: value, limit: 3 })).toEqual({ tool: 'Read', input: { file_path: path, limit: 3 } });
  });
  it('knows where each tool keeps its path and leaves other inputs alone', () => {
    expect(canonical('NotebookEdit', { notebook_path: 'n.ipynb' }).input).toEqual({ notebook_path: '/workspace/n.ipynb' });
    expect(canonical('Grep', { pattern: 'x', path: 'src' }).input).toEqual({ pattern: 'x', path: '/workspace/src' });
    expect(canonical('mcp__issues__create', { path: 'a', file_path: 'b' }).input).toEqual({ path: 'a', file_path: 'b' });
    expect(canonical('Read', { file_path: 7 }).input).toEqual({ file_path: 7 });
  });
});

describe('the witness', () => {
  it('is content with a decided call and with a call that the program refused itself', () => {
    const witness = new Witness();
    witness.decided('a');
    expect(witness.ran('a')).toBeUndefined();
    expect(witness.result('a', false, 'output')).toBeUndefined();
    expect(witness.result('b', true, '<tool_use_error>No such tool</tool_use_error>')).toBeUndefined();
  });
  it.each([
    [false, '<tool_use_error>looks like a refusal'],
    [true, 'Exit code 1'],
    [true, ' <tool_use_error>'],
    [false, 'output'],
  ])('reports an undecided result: error %s, text %j', (isError, text) => {
    expect(new Witness().result('a', isError, text)).toEqual({ toolUseId: 'a', seenAs: 'result' });
  });
  it('reports a tool that ran undecided', () => {
    expect(new Witness().ran('a')).toEqual({ toolUseId: 'a', seenAs: 'ran' });
  });
});

describe('the outcome', () => {
  const end = { budgetExhausted: false, maxTurns: 3 };
  const finish = (subtype: string, isError: boolean, text: string) => ({ subtype, isError, text });

  it('is completed only on an undisturbed success', () => {
    expect(outcomeOf({ ...end, finish: finish('success', false, 'done') })).toEqual({ outcome: 'completed', summary: 'done' });
    expect(outcomeOf({ ...end, finish: finish('success', true, 'API Error: 500') }).outcome).toBe('failed');
    expect(outcomeOf({ ...end, finish: finish('error_during_execution', true, '') }).outcome).toBe('failed');
    expect(outcomeOf({ ...end, finish: undefined }).outcome).toBe('failed');
    expect(outcomeOf({ ...end, budgetExhausted: true, finish: finish('success', false, 'done') }).outcome).toBe('failed');
  });
  it.each([
    ['API Error: 400 no key', 'API Error: 400 no key'],
    [
      'API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"no key"},"request_id":"r"}',
      'API Error: 400 no key',
    ],
    ['it failed at {', 'it failed at {'],
    ['it failed: {"error":7}', 'it failed: {"error":7}'],
  ])('tells %s as %s', (text, summary) => {
    expect(outcomeOf({ ...end, finish: finish('success', true, text) })).toEqual({ outcome: 'failed', summary });
  });
  it('names the limit of turns', () => {
    expect(outcomeOf({ ...end, finish: finish('error_max_turns', true, '') }).summary).toContain('3 turns');
  });
});

describe('messages of the program', () => {
  it('are read as far as they matter', () => {
    expect(
      readMessage({
        type: 'assistant',
        parent_tool_use_id: null,
        message: {
          content: [
            { type: 'text', text: 'hi' },
            { type: 'tool_use', id: 'x' },
          ],
        },
      }),
    ).toEqual({ kind: 'said', text: 'hi' });
    expect(
      readMessage({ type: 'assistant', parent_tool_use_id: 'x', message: { content: [{ type: 'text', text: 'sub' }] } }),
    ).toBeUndefined();
    expect(
      readMessage({
        type: 'user',
        message: { content: [{ type: 'tool_result', tool_use_id: 'x', is_error: true, content: [{ type: 'text', text: 'no' }] }] },
      }),
    ).toEqual({
      kind: 'results',
      bySubAgent: false,
      results: [{ toolUseId: 'x', isError: true, text: 'no' }],
    });
    for (const odd of [null, 1, {}, { type: 'stream_event' }, { type: 'assistant', message: {} }]) expect(readMessage(odd)).toBeUndefined();
  });
});

describe('the summary of an output', () => {
  it.each([
    ['plain', 'plain'],
    [{ stdout: 'out', stderr: 'err', interrupted: false }, 'out\nerr'],
    [{ stdout: 'out', stderr: '' }, 'out'],
    [{ type: 'text', file: { filePath: '/workspace/a', content: 'AAA' } }, 'AAA'],
    [{ status: 'completed' }, '{"status":"completed"}'],
    [undefined, ''],
  ])('of %j is %j', (output, summary) => {
    expect(summaryOf(output)).toBe(summary);
  });
});

describe('the end of the conversation', () => {
  const finished = { kind: 'finished', finish: { subtype: 'success', isError: false, text: '' } } as const;
  const background = (subAgents: number) => ({ kind: 'background', subAgents }) as const;
  const said = { kind: 'said', text: 'x' } as const;
  let ended = false;
  const observed = async (...messages: Parameters<EndOfConversation['observe']>[0][]) => {
    ended = false;
    const end = new EndOfConversation();
    void end.reached.then(() => {
      ended = true;
    });
    for (const message of messages) end.observe(message);
    await Promise.resolve();
    return end;
  };
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('comes with the result when nothing works in the background', async () => {
    await observed(said, finished);
    expect(ended).toBe(true);
  });
  it('waits for a sub-agent in the background and for the turn that follows it', async () => {
    const end = await observed(background(1), finished);
    await jest.advanceTimersByTimeAsync(600_000);
    expect(ended).toBe(false);
    end.observe(background(0));
    await jest.advanceTimersByTimeAsync(1_000);
    end.observe(said);
    await jest.advanceTimersByTimeAsync(600_000);
    expect(ended).toBe(false);
    end.observe(finished);
    await Promise.resolve();
    expect(ended).toBe(true);
  });
  it('is not put off by what a sub-agent still does', async () => {
    await observed(background(1), finished, { kind: 'results', bySubAgent: true, results: [] }, background(0));
    await jest.advanceTimersByTimeAsync(5_000);
    expect(ended).toBe(true);
  });
  it('does not wait for ever for a turn that never comes', async () => {
    await observed(background(1), finished, background(0));
    await jest.advanceTimersByTimeAsync(5_000);
    expect(ended).toBe(true);
  });
});
