import { answerProgram, type GateBridge } from './ask-the-gate';
import { commandCall, patchCall, patchCommandCall } from './canonical-calls';
import { outcomeOf } from './outcome';
import type { FileChange } from './protocol';
import { scriptOf, shownLine } from './shell-words';
import { type Seen, Turn } from './turn';
import { Witness } from './witness';

describe('the command behind the shell', () => {
  it.each([
    ['/bin/bash -c ls', 'ls'],
    ["/usr/bin/bash -c 'cat a.txt'", 'cat a.txt'],
    ["/usr/bin/bash -lc 'cat a.txt'", 'cat a.txt'],
    [`/bin/bash -c "echo 'quo\\"te' \\"it's\\" "'$(date +%Y)\nsecond line'`, `echo 'quo"te' "it's" $(date +%Y)\nsecond line`],
    ['/bin/bash -c \'bash -c "rm -rf /"\'', 'bash -c "rm -rf /"'],
    ["/bin/bash -c ''", ''],
    ["/bin/bash -c 'echo é 世'", 'echo é 世'],
  ])('%s', (line, script) => expect(scriptOf(line)).toBe(script));

  it.each([
    ["/bin/sh -c 'ls'"],
    ["/usr/bin/zsh -c 'ls'"],
    ["/workspace/bash -c 'ls'"],
    ["bash -c 'ls'"],
    ["/bin/bash -x -c 'ls'"],
    ["/bin/bash -c 'ls' 'more'"],
    ['/bin/bash -c'],
    ["/bin/bash -ic 'ls'"],
    ['/bin/bash -c ls; rm x'],
    ['/bin/bash -c $(id)'],
    ['/bin/bash -c "a $(id)"'],
    ["/bin/bash -c 'open"],
    ['/bin/bash -c a\\ b'],
    [''],
  ])('is not guessed: %s', (line) => expect(scriptOf(line)).toBeNull());

  it.each([
    [`/usr/bin/sh -c "echo 'x'"`, `/usr/bin/sh -c 'echo '\\''x'\\'''`],
    ['/bin/sh -c ls', "/bin/sh -c 'ls'"],
    [`'/bin/a b' -c ls`, `'/bin/a b' -c ls`],
    ['/bin/sh -c a; rm x', '/bin/sh -c a; rm x'],
    ['<command included NUL byte>', '<command included NUL byte>'],
  ])('the line %s of another shell is shown as %s', (line, shown) => expect(shownLine(line)).toBe(shown));
});

describe('canonical calls', () => {
  const change = (path: string, type: 'add' | 'delete' | 'update', move_path: string | null = null): FileChange => ({
    path,
    kind: { type, move_path },
    diff: `diff of ${path}`,
  });

  it('says the directory as a shell would, unless it is the workspace', () => {
    expect(commandCall('ls', '/workspace', '/workspace')).toEqual({ tool: 'Bash', input: { command: 'ls' } });
    expect(commandCall('ls', null, '/workspace')).toEqual({ tool: 'Bash', input: { command: 'ls' } });
    expect(commandCall('cat x', "/etc/it's", '/workspace').input.command).toBe("cd '/etc/it'\\''s'\ncat x");
    expect(commandCall('cat x', '/workspace/../etc', '/workspace').input.command).toBe("cd '/etc'\ncat x");
  });

  it('makes one call of a patch, whose every path stands in it', () => {
    expect(patchCall([change('/workspace/a', 'add')], '/workspace')).toEqual({
      tool: 'Edit',
      input: { file_path: '/workspace/a', change: 'add', diff: 'diff of /workspace/a' },
    });
    const { input } = patchCall([change('/workspace/a', 'update', '/etc/b'), change('sub/c', 'delete')], '/workspace');
    expect((input.edits as { file_path: string; change: string }[]).map(({ file_path, change }) => [file_path, change])).toEqual([
      ['/workspace/a', 'move_from'],
      ['/etc/b', 'move_to'],
      ['/workspace/sub/c', 'delete'],
    ]);
  });

  it('keeps a patch that was written as a command a command', () => {
    const call = patchCommandCall('apply_patch <<E', '/workspace/sub', [change('/workspace/sub/a', 'add')], '/workspace');
    expect(call).toMatchObject({
      tool: 'Bash',
      input: { command: "cd '/workspace/sub'\napply_patch <<E", edits: [{ file_path: '/workspace/sub/a' }] },
    });
  });
});

describe('what the program asks', () => {
  type Answer = Awaited<ReturnType<GateBridge['context']['client']['permission']>>;
  const asked: unknown[] = [];
  const denied: string[] = [];
  beforeEach(() => {
    asked.length = 0;
    denied.length = 0;
  });

  function ask(method: string, params: object, answer: Answer | Error = { decision: 'allow' }, changes: FileChange[] = []) {
    const witness = new Witness();
    witness.streamed({ type: 'function_call', call_id: 'call_1', name: 'exec_command', arguments: '{"cmd":"apply_patch"}' });
    witness.streamed({ type: 'custom_tool_call', call_id: 'call_2', name: 'apply_patch', input: 'x' });
    const client = {
      permission: async (request: unknown) => {
        asked.push(request);
        if (answer instanceof Error) throw answer;
        return answer;
      },
    };
    const context = {
      client,
      input: { workspace: '/workspace' },
      quiesce: { signal: new AbortController().signal },
      log: () => undefined,
    } as unknown as GateBridge['context'];
    return answerProgram(
      { context, witness, changesOf: () => changes, onDenied: async (_id, message) => void denied.push(message) },
      method,
      params,
    );
  }
  const command = 'item/commandExecution/requestApproval';
  const file = 'item/fileChange/requestApproval';
  const ls = { kind: 'command', itemId: 'call_1', command: "/bin/bash -c 'ls'", cwd: '/workspace' };
  const add: FileChange = { path: '/workspace/a', kind: { type: 'add' }, diff: 'a' };

  it('accepts for this call what the gate allows, under the id of the model', async () => {
    expect(await ask(command, ls)).toEqual({ decision: 'accept' });
    expect(await ask(file, { itemId: 'call_2' }, { decision: 'allow' }, [add])).toEqual({ decision: 'accept' });
    expect(asked).toEqual([
      { tool_call_id: 'call_1', tool: 'Bash', input: { command: 'ls' } },
      { tool_call_id: 'call_2', tool: 'Edit', input: { file_path: '/workspace/a', change: 'add', diff: 'a' } },
    ]);
  });

  it.each<[string, string, object, Answer | Error]>([
    ['the gate denies', command, ls, { decision: 'deny', message: 'no' }],
    ['the gate cannot be asked', command, ls, new Error('gone')],
    ['a person edited the call', command, ls, { decision: 'allow', updated_input: { command: 'pwd' } }],
    ['the shell is not wrapped', command, { ...ls, command: "/bin/sh -c 'ls'" }, { decision: 'allow' }],
    ['the changes are not known', file, { itemId: 'call_2' }, { decision: 'allow' }],
  ])('declines after asking when %s', async (_why, method, params, answer) => {
    expect(await ask(method, params, answer)).toEqual({ decision: 'decline' });
    expect(asked).toHaveLength(1);
  });

  it.each<[string, string, object]>([
    ['input for a running command', command, { ...ls, kind: 'stdin', approvalId: 'x' }],
    ['a network rule', command, { ...ls, networkApprovalContext: { host: 'h' } }],
    ['more rights', command, { ...ls, additionalPermissions: {} }],
    ['a call that the model has not made', command, { ...ls, itemId: 'exec-1' }],
    ['a command that is not there', command, { ...ls, command: null }],
    ['a patch that the model has not made', file, { itemId: 'other' }],
    ['rights for a folder', file, { itemId: 'call_2', grantRoot: '/' }],
  ])('declines %s without asking', async (_what, method, params) => {
    expect(await ask(method, params, { decision: 'allow' }, [add])).toEqual({ decision: 'decline' });
    expect(asked).toEqual([]);
    expect(denied).toHaveLength(1);
  });

  it('declines elicitations and refuses every other request', async () => {
    expect(await ask('mcpServer/elicitation/request', {})).toEqual({ action: 'decline', content: null, _meta: null });
    for (const method of [
      'item/tool/call',
      'item/tool/requestUserInput',
      'item/permissions/requestApproval',
      'execCommandApproval',
      'x/new',
    ])
      await expect(ask(method, {})).rejects.toThrow('refused');
    await expect(ask(command, { command: 'ls' })).rejects.toThrow();
    expect(asked).toEqual([]);
  });
});

describe('the witness', () => {
  const witness = () => {
    const made = new Witness();
    made.streamed({ type: 'function_call', call_id: 'asked', name: 'exec_command' });
    made.streamed({ type: 'function_call', call_id: 'poll', name: 'write_stdin' });
    made.decided('asked', 'Bash');
    return made;
  };
  const output = (call_id: string, text: string) => ({ type: 'function_call_output', call_id, output: text });

  it.each([
    ['a decided call', output('asked', 'Chunk ID: 1')],
    ['a refusal of the program', output('other', 'unsupported call: x')],
    ['a look at a running command', output('poll', 'Chunk ID: 1')],
  ])('lets pass %s', (_what, item) => expect(witness().streamed(item)).toBeUndefined());

  it('names a result of a call that nobody decided', () => {
    expect(witness().streamed(output('other', 'Chunk ID: 1'))).toMatchObject({ callId: 'other' });
    expect(witness().streamed({ type: 'custom_tool_call_output', call_id: 'other', output: [{ text: 'x' }] })).toMatchObject({
      callId: 'other',
    });
  });

  it.each([
    ['commandExecution', 'completed'],
    ['commandExecution', 'failed'],
    ['fileChange', 'completed'],
    ['mcpToolCall', 'completed'],
    ['imageView', undefined],
    ['somethingNew', undefined],
  ])('names %s that has %s without a decision', (type, status) =>
    expect(witness().completed({ type, id: 'other', ...(status === undefined ? {} : { status }) })).toMatchObject({ callId: 'other' }),
  );

  it.each([
    [{ type: 'commandExecution', id: 'asked', status: 'completed' }],
    [{ type: 'commandExecution', id: 'other', status: 'declined' }],
    [{ type: 'agentMessage', id: 'msg' }],
    [{ type: 'reasoning', id: 'r' }],
  ])('lets pass %j', (item) => expect(witness().completed(item)).toBeUndefined());
});

describe('the turn', () => {
  const item = (item: object) => ({ threadId: 't', item });
  const observe = (turn: Turn, ...notifications: [string, unknown][]): Seen[] =>
    notifications.flatMap(([method, params]) => turn.observe(method, params));

  it('reports what was said and done, and counts answers that go on', () => {
    const witness = new Witness();
    witness.decided('call_1', 'Bash');
    const seen = observe(
      new Turn(witness),
      ['item/completed', item({ type: 'agentMessage', id: 'm', text: 'Looking.' })],
      ['rawResponseItem/completed', { item: { type: 'function_call', call_id: 'call_1', name: 'exec_command' } }],
      ['rawResponse/completed', {}],
      ['item/completed', item({ type: 'commandExecution', id: 'call_1', status: 'completed', aggregatedOutput: 'out', exitCode: 1 })],
      ['rawResponse/completed', {}],
      ['thread/unknown', { anything: true }],
    );
    expect(seen).toEqual([
      { kind: 'event', event: { type: 'agent.message', data: { role: 'assistant', text: 'Looking.' } } },
      { kind: 'goes_on', answers: 1 },
      { kind: 'event', event: { type: 'tool.completed', data: { tool_call_id: 'call_1', tool: 'Bash', ok: false, summary: 'out' } } },
    ]);
  });

  it('counts only what ran as a violation once we have stopped it', () => {
    const turn = new Turn(new Witness());
    const aborted: [string, unknown] = [
      'rawResponseItem/completed',
      { item: { type: 'function_call_output', call_id: 'c', output: 'aborted' } },
    ];
    expect(observe(turn, aborted)).toMatchObject([{ kind: 'violation' }]);
    turn.stopped();
    expect(observe(turn, aborted)).toEqual([]);
    expect(observe(turn, ['item/completed', item({ type: 'commandExecution', id: 'c', status: 'completed' })])).toMatchObject([
      { kind: 'violation' },
    ]);
  });

  it('throws on what is not as expected', () => {
    expect(() => new Turn(new Witness()).observe('item/completed', { item: {} })).toThrow();
    expect(() => new Turn(new Witness()).observe('rawResponseItem/completed', {})).toThrow();
  });

  it('ends with its own thread only', async () => {
    const turn = new Turn(new Witness());
    turn.threadId = 't';
    turn.observe('turn/completed', { threadId: 'other', turn: { id: 'x', status: 'failed' } });
    turn.observe('turn/completed', { threadId: 't', turn: { id: 'x', status: 'completed', error: null } });
    expect(await turn.ended).toEqual({ status: 'completed', error: null });
  });
});

describe('the outcome', () => {
  const end = { turn: { status: 'completed', error: null }, lastMessage: 'done', budgetExhausted: false, turnLimit: null };
  it.each([
    [end, { outcome: 'completed', summary: 'done' }],
    [
      { ...end, turn: null },
      { outcome: 'failed', summary: 'the agent program ended without a result' },
    ],
    [
      { ...end, budgetExhausted: true },
      { outcome: 'failed', summary: 'stopped: the budget of this run is exhausted' },
    ],
    [
      { ...end, turnLimit: 3 },
      { outcome: 'failed', summary: 'stopped: the limit of 3 turns is reached' },
    ],
    [
      { ...end, turn: { status: 'interrupted', error: null } },
      { outcome: 'failed', summary: 'the agent program failed: interrupted' },
    ],
    [
      { ...end, turn: { status: 'failed', error: 'unexpected status 400: {"error":{"message":"no key"}}' } },
      { outcome: 'failed', summary: 'unexpected status 400: no key' },
    ],
  ])('%j', (given, expected) => expect(outcomeOf(given)).toEqual(expected));
});
