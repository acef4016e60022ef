import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { EventView } from '@fluidbox/contracts';
import { type SystemStack, startSystemStack } from './support/stack';
import { typesOf } from './support/wire-run';

/** A command whose effect proves that it ran: the hash of a secret that only the command line knows. */
function nonce(): { command: string; hash: string } {
  const secret = randomBytes(12).toString('hex');
  return { command: `printf %s ${secret} | sha256sum`, hash: createHash('sha256').update(secret).digest('hex') };
}

/** Every place where output of a command could turn up: model requests, events with content, files of the stack. */
function* everythingWritten(stack: SystemStack, events: readonly EventView[]): Generator<string> {
  for (const request of stack.model.requests) yield JSON.stringify(request.body);
  yield JSON.stringify(events);
  yield stack.output();
  for (const entry of fs.readdirSync(path.join(stack.home, 'logs'), { withFileTypes: true })) {
    if (entry.isFile()) yield fs.readFileSync(path.join(entry.parentPath, entry.name), 'utf8');
  }
}

const policy = `
name: nonce
defaults: { tool_action: deny }
tools:
  - match: [Bash]
    action: allow
    shell: { allow: ["printf", "sha256sum"], deny: ["env"], on_no_match: deny }
  - match: [Agent, Read, Write, Edit, NotebookEdit, Glob, Grep]
    action: allow
`;

const notebook = JSON.stringify({ cells: [], metadata: { language_info: { name: 'python' } }, nbformat: 4, nbformat_minor: 5 });

describe('interception with the real Claude Agent SDK', () => {
  const allowed = nonce();
  const denied = nonce();
  const subAllowed = nonce();
  const subDenied = nonce();
  let stack: SystemStack;
  let events: readonly EventView[];

  beforeAll(async () => {
    const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'x' } });
    stack = await startSystemStack({
      script: {
        conversations: [
          {
            match: 'you are the helper',
            steps: [{ tools: [bash(subAllowed.command), bash(`env ${subDenied.command}`)] }, { text: 'helper done' }],
          },
          {
            steps: [
              { tools: [bash(allowed.command), bash(`env ${denied.command}`)] },
              {
                tools: [
                  {
                    name: 'Agent',
                    input: {
                      description: 'helper',
                      prompt: 'you are the helper',
                      subagent_type: 'general-purpose',
                      run_in_background: false,
                    },
                  },
                ],
              },
              { tools: [{ name: 'NoSuchTool', input: {} }] },
              // What an honest agent gets wrong: an edit of what it has not read, and arguments that are not there.
              { tools: [{ name: 'Write', input: { file_path: '/workspace/a.txt', content: 'one\ntwo\n' } }] },
              { tools: [bash(`${allowed.command} > b.txt`)] },
              {
                tools: [
                  { name: 'Edit', input: { file_path: '/workspace/b.txt', old_string: 'x', new_string: 'y' } },
                  { name: 'Bash', input: {} },
                ],
              },
              // What the program tidies before it asks: it drops the folder it is in, halves these backslashes, cuts the ends of lines.
              { tools: [bash('cd /workspace && printf x'), bash('cd /workspace && cd /workspace && printf y'), bash('printf x \\\\;')] },
              { tools: [{ name: 'Write', input: { file_path: '/workspace/c.ts', content: 'one  \ntwo\t\nthree\r\n\n  ' } }] },
              { tools: [{ name: 'Edit', input: { file_path: '/workspace/c.ts', old_string: 'one', new_string: 'uno  \n  ' } }] },
              { tools: [{ name: 'Write', input: { file_path: '/workspace/c.md', content: 'one  \n' } }] },
              { tools: [{ name: 'Write', input: { file_path: '/workspace/n.ipynb', content: notebook } }] },
              {
                tools: [
                  {
                    name: 'NotebookEdit',
                    input: { notebook_path: '/workspace/n.ipynb', new_source: 'x  \n', cell_type: 'code', edit_mode: 'insert' },
                  },
                ],
              },
              // Each tool whose input is compared, as the harness passes it on; relative paths and defaults are its own.
              {
                tools: [
                  { name: 'Edit', input: { file_path: '/workspace/a.txt', old_string: 'two', new_string: 'three' } },
                  { name: 'Read', input: { file_path: '/workspace/b.txt' } },
                  { name: 'Read', input: { file_path: './/b.txt' } },
                  { name: 'Read', input: { file_path: '/workspace/../workspace/b.txt' } },
                  { name: 'Glob', input: { pattern: '*.txt' } },
                  { name: 'Grep', input: { pattern: 'three' } },
                ],
              },
              { text: 'all done' },
            ],
          },
        ],
      },
    });
    await stack.admin.importPolicy('nonce', { source: policy });
    await stack.admin.createAgent({ name: 'nonce', policy: 'nonce' });
    const { session } = await stack.admin.createSession({ agent: 'nonce', task: 'go' });
    for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;
    events = await stack.admin.allEvents(session.id);
  });
  afterAll(() => stack.stop());

  const appears = (hash: string): boolean => [...everythingWritten(stack, events)].some((text) => text.includes(hash));

  it('[GATE-1] ran the allowed command and never the denied one', () => {
    expect(appears(allowed.hash)).toBe(true);
    expect(appears(denied.hash)).toBe(false);
  });

  it('[GATE-2] ran the sub-agent’s allowed command and never its denied one', () => {
    expect(appears(subAllowed.hash)).toBe(true);
    expect(appears(subDenied.hash)).toBe(false);
  });

  it('[GATE-1] [COVERAGE-2] decided every call the model made, but those the harness refused by itself', () => {
    const emitted = stack.model.emittedToolCalls().map((call) => call.id);
    const decided = new Set(typesOf(events, 'tool.decision').map((event) => event.data.tool_call_id));
    const rejected = typesOf(events, 'model.tool_call_closed').map((event) => event.data.tool_call_id);
    expect(emitted.filter((id) => !decided.has(id))).toEqual(rejected);
    expect(typesOf(events, 'model.tool_call_closed').map((event) => event.data.tool)).toEqual(['NoSuchTool', 'Edit', 'Bash']);
    expect(events.at(-1)?.data).toMatchObject({ outcome: 'completed', coverage: 'full' });
    const { model, ...classes } = (events.at(-1)?.data.calls ?? {}) as Record<string, number>;
    expect([model, Object.values(classes).reduce((sum, count) => sum + count, 0)]).toEqual([emitted.length, emitted.length]);
    // The digests are there to be compared, on both sides.
    const fields = (type: string, tool: string) =>
      typesOf(events, type).filter(({ data }) => data.tool === tool && data.input_fields !== undefined);
    for (const tool of ['Bash', 'Read', 'Write', 'Edit', 'NotebookEdit', 'Glob', 'Grep']) {
      expect([tool, fields('model.tool_call', tool).length > 0]).toEqual([tool, true]);
      expect([tool, fields('tool.requested', tool).length > 0]).toEqual([tool, true]);
    }
  });

  it('asked for each call exactly once', () => {
    const requested = typesOf(events, 'tool.requested').map((event) => event.data.tool_call_id);
    expect(new Set(requested).size).toBe(requested.length);
  });
});
