import type { RunSpec } from '@fluidbox/contracts';
import { codexSpec, specOf, sse } from './facade-fixture';

export interface SaidCall {
  readonly id: string;
  readonly command?: string;
  /** Writes a new file here instead of running a command. */
  readonly file?: string;
}

/** One harness and its model in the words of their dialect: calls, what comes back of them, and what a provider may do by itself. */
export interface Talk {
  readonly name: string;
  readonly path: string;
  spec(change?: Parameters<typeof specOf>[0]): RunSpec;
  ask(results?: readonly { id: string; text?: string; isError?: boolean }[], tools?: readonly string[]): Record<string, unknown>;
  /** Events of an answer up to its end, and the end. */
  said(calls: readonly SaidCall[]): Record<string, unknown>[];
  end(calls: readonly SaidCall[]): Record<string, unknown>[];
  /** An answer with one call up to its last argument. */
  unfinished(call: SaidCall): Record<string, unknown>[];
  /** Arguments as the model writes them. */
  written(call: SaidCall): Record<string, unknown>;
  /** What the gate is asked of an honest runner. */
  judged(call: SaidCall): { tool: string; input: Record<string, unknown> };
  /** A result in the words in which the harness refuses a call by itself. */
  readonly refused: { text: string; isError: boolean };
  /** Items that the provider runs, as they begin. */
  readonly providerItems: readonly (readonly [string, Record<string, unknown>[]])[];
  /** Calls of a tool that was asked for and may not be offered. */
  readonly droppedItems: readonly (readonly [string, string, Record<string, unknown>[]])[];
}

const commandOf = ({ command = 'ls' }: SaidCall): string => command;
const newFile = (file: string) => ({ file_path: file, change: 'add', diff: 'x\n' });

const block = (index: number, content: Record<string, unknown>, json = '{}'): Record<string, unknown>[] => [
  { type: 'content_block_start', index, content_block: content },
  { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: json } },
  { type: 'content_block_stop', index },
];
const anthropicInput = (call: SaidCall): Record<string, unknown> =>
  call.file === undefined ? { command: commandOf(call) } : { file_path: call.file, content: 'x' };

const claude: Talk = {
  name: 'Anthropic Messages',
  path: 'v1/messages',
  spec: (change) => {
    const spec = specOf(change);
    const compared_fields = { Bash: ['command'], Write: ['file_path', 'content'] };
    return { ...spec, harness: { ...spec.harness, compared_fields }, tool_surface: ['Bash', 'Write'] };
  },
  ask: (results = [], tools = ['Bash', 'Write']) => ({
    model: 'claude-haiku-4-5',
    max_tokens: 2_000,
    stream: true,
    tools: tools.map((name) => ({ name, input_schema: {} })),
    messages: [
      { role: 'user', content: 'hi' },
      ...(results.length === 0
        ? []
        : [
            {
              role: 'user',
              content: results.map(({ id, text = 'ok', isError }) => ({
                type: 'tool_result',
                tool_use_id: id,
                content: text,
                is_error: isError,
              })),
            },
          ]),
    ],
  }),
  said: (calls) => [
    { type: 'message_start', message: { id: 'msg_1', content: [], usage: { input_tokens: 60, output_tokens: 1 } } },
    ...calls.flatMap((call, index) =>
      block(
        index,
        { type: 'tool_use', id: call.id, name: call.file === undefined ? 'Bash' : 'Write', input: {} },
        JSON.stringify(anthropicInput(call)),
      ),
    ),
  ],
  unfinished: (call) => claude.said([call]).slice(0, -1),
  end: () => [{ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 40 } }, { type: 'message_stop' }],
  written: anthropicInput,
  judged: (call) => ({ tool: call.file === undefined ? 'Bash' : 'Write', input: anthropicInput(call) }),
  refused: { text: '<tool_use_error>no such tool</tool_use_error>', isError: true },
  providerItems: ['server_tool_use', 'mcp_tool_use', 'some_new_tool_use'].map((type) => [
    type,
    block(0, { type, id: 'srv_1', name: 'web_search', input: {} }),
  ]),
  droppedItems: [['a tool', 'WebFetch', block(0, { type: 'tool_use', id: 'call_9', name: 'WebFetch', input: {} })]],
};

const itemOf = (call: SaidCall): Record<string, unknown> =>
  call.file === undefined
    ? {
        type: 'function_call',
        id: `fc_${call.id}`,
        call_id: call.id,
        name: 'exec_command',
        arguments: JSON.stringify({ cmd: commandOf(call) }),
      }
    : {
        type: 'custom_tool_call',
        id: `ct_${call.id}`,
        call_id: call.id,
        name: 'apply_patch',
        input: `*** Begin Patch\n*** Add File: ${call.file}\n+x\n*** End Patch`,
      };
const item = (index: number, whole: Record<string, unknown>): Record<string, unknown>[] => [
  { type: 'response.output_item.added', output_index: index, item: { ...whole, arguments: '', input: '' } },
  { type: 'response.output_item.done', output_index: index, item: whole },
];

const codex: Talk = {
  name: 'OpenAI Responses',
  path: 'v1/responses',
  spec: codexSpec,
  ask: (results = [], tools = ['exec_command']) => ({
    model: 'gpt-5.5',
    stream: true,
    max_output_tokens: 2_000,
    tools: [
      ...tools.map((name) => ({ type: 'function', name, parameters: { type: 'object' } })),
      { type: 'custom', name: 'apply_patch' },
      ...(tools.includes('js')
        ? [
            { type: 'custom', name: 'js' },
            { type: 'namespace', name: 'web', tools: [{ type: 'function', name: 'open' }] },
          ]
        : []),
    ],
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      ...results.map(({ id, text = 'ok' }) => ({ type: 'function_call_output', call_id: id, output: text })),
    ],
  }),
  said: (calls) => [
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', usage: null } },
    ...calls.flatMap((call, index) => item(index, itemOf(call))),
  ],
  unfinished: (call) => {
    const { name, type, call_id, arguments: args, input } = itemOf(call);
    const [kind, delta] = type === 'function_call' ? ['function_call_arguments', args] : ['custom_tool_call_input', input];
    return [
      ...codex.said([]),
      { type: 'response.output_item.added', output_index: 0, item: { type, name, call_id } },
      { type: `response.${kind}.delta`, output_index: 0, delta },
    ];
  },
  end: (calls) => [
    {
      type: 'response.completed',
      response: {
        id: 'resp_1',
        status: 'completed',
        output: calls.map(itemOf),
        usage: { input_tokens: 60, input_tokens_details: { cached_tokens: 0 }, output_tokens: 40 },
      },
    },
  ],
  written: (call) => ({ cmd: commandOf(call) }),
  judged: (call) =>
    call.file === undefined ? { tool: 'Bash', input: { command: commandOf(call) } } : { tool: 'Edit', input: newFile(call.file) },
  refused: { text: 'unsupported call: exec_command', isError: false },
  providerItems: [
    'web_search_call',
    'code_interpreter_call',
    'file_search_call',
    'image_generation_call',
    'computer_call',
    'mcp_call',
    'mcp_list_tools',
    'mcp_approval_request',
    'shell_call',
    'apply_patch_call',
    'tool_search_call',
    'some_new_call',
  ].map((type) => [type, item(0, { type, id: 'srv_1', name: 'x', status: 'completed' })]),
  droppedItems: [
    ['a function', 'js', item(0, { type: 'function_call', id: 'i', call_id: 'call_9', name: 'js', arguments: '{}' })],
    ['a custom tool', 'js', item(0, { type: 'custom_tool_call', id: 'i', call_id: 'call_9', name: 'js', input: 'run()' })],
    [
      'a function in the namespace of those without one',
      'js',
      item(0, { type: 'function_call', id: 'i', call_id: 'call_9', name: 'js', namespace: 'functions', arguments: '{}' }),
    ],
    [
      'a tool of a namespace',
      'web.open',
      item(0, { type: 'function_call', id: 'i', call_id: 'call_9', name: 'open', namespace: 'web', arguments: '{}' }),
    ],
  ],
};

export const talks: readonly Talk[] = [claude, codex];

export const answerOf = (talk: Talk, calls: readonly SaidCall[]): string => sse([...talk.said(calls), ...talk.end(calls)]);
