import type { RunSpec } from '@fluidbox/contracts';
import { codexSpec, specOf, sse } from './facade-fixture';

/** One dialect as a faulty provider speaks it: the same answer, whole and in pieces. */
export interface Wire {
  readonly name: string;
  readonly path: string;
  readonly spec: () => RunSpec;
  ask(stream: boolean): Record<string, unknown>;
  /** The answer up to its last event, with this text; it reports no output yet. */
  opening(text: string): string;
  /** The rest of it, with its usage. */
  ending(): string;
  /** Ends without a usage. */
  endingUncounted(): string;
  /** The provider gives up in the middle. */
  error(): string;
  whole(text: string): Record<string, unknown>;
  /** Of the answer. */
  readonly tokens: number;
}

const anthropic: Wire = {
  name: 'anthropic',
  path: 'v1/messages',
  spec: () => specOf(),
  tokens: 460,
  ask: (stream) => ({ model: 'claude-haiku-4-5', max_tokens: 2_000, stream, messages: [{ role: 'user', content: 'hi' }] }),
  opening: (text) =>
    sse([
      { type: 'message_start', message: { id: 'msg_1', content: [], usage: { input_tokens: 60, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...inPieces(text).map((part) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: part } })),
      { type: 'content_block_stop', index: 0 },
    ]),
  ending: () =>
    sse([{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 400 } }, { type: 'message_stop' }]),
  endingUncounted: () => sse([{ type: 'message_stop' }]),
  error: () => sse([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }]),
  whole: (text) => ({
    id: 'msg_1',
    type: 'message',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 60, output_tokens: 400 },
  }),
};

const usage = { input_tokens: 60, input_tokens_details: { cached_tokens: 0 }, output_tokens: 400 };
const openai: Wire = {
  name: 'openai',
  path: 'v1/responses',
  spec: () => codexSpec(),
  tokens: 460,
  ask: (stream) => ({ model: 'gpt-5.5', max_output_tokens: 2_000, stream, input: 'hi' }),
  opening: (text) =>
    sse([
      { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', usage: null } },
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', role: 'assistant' } },
      ...inPieces(text).map((delta) => ({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta })),
    ]),
  ending: () => sse([{ type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [], usage } }]),
  endingUncounted: () => sse([{ type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [], usage: null } }]),
  error: () => sse([{ type: 'error', code: 'server_error', message: 'Overloaded' }]),
  whole: (text) => ({ id: 'resp_1', status: 'completed', output: [{ type: 'message', content: [{ type: 'output_text', text }] }], usage }),
};

export const wires: readonly Wire[] = [anthropic, openai];

const pieceBytes = 16 * 1024;
function inPieces(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += pieceBytes) pieces.push(text.slice(at, at + pieceBytes));
  return pieces;
}
