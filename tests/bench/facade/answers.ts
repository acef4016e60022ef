/** What the provider of the benches answers: shapes of the Anthropic wire, sizes of an ordinary turn. */
const event = (data: Record<string, unknown>): string => `event: ${String(data.type)}\ndata: ${JSON.stringify(data)}\n\n`;
const inputTokens = 900;
const outputTokens = 250;

export const messageOf = Buffer.from(
  JSON.stringify({
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    model: 'claude-haiku-4-5',
    content: [{ type: 'text', text: 'All seven tests pass now. '.repeat(40) }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: inputTokens, output_tokens: outputTokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
  }),
);
export const streamHead = Buffer.from(
  event({
    type: 'message_start',
    message: {
      id: 'msg_01',
      type: 'message',
      role: 'assistant',
      model: 'claude-haiku-4-5',
      content: [],
      stop_reason: null,
      usage: { input_tokens: inputTokens, output_tokens: 1 },
    },
  }) + event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
);
export const wordDelta = Buffer.from(
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'words of the answer ' } }),
);
export const streamTail = (pieces: number): Buffer =>
  Buffer.from(
    event({ type: 'content_block_stop', index: 0 }) +
      event({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: pieces } }) +
      event({ type: 'message_stop' }),
  );
export const streamBytes = (pieces: number): number => streamHead.length + pieces * wordDelta.length + streamTail(pieces).length;

/** About what a small turn of an agent weighs. */
export const requestOf = (change: { stream: boolean; max_tokens?: number; pace?: string }): Buffer =>
  Buffer.from(
    JSON.stringify({
      model: 'claude-haiku-4-5',
      max_tokens: change.max_tokens ?? outputTokens,
      stream: change.stream,
      metadata: { user_id: change.pace ?? 'flat' },
      system: 'You repair what is broken and say what you did. '.repeat(40),
      messages: [{ role: 'user', content: 'The tests of this repository fail. '.repeat(30) }],
      tools: [
        { name: 'Bash', description: 'Runs a command.', input_schema: { type: 'object', properties: { command: { type: 'string' } } } },
      ],
    }),
  );
