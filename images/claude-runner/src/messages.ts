import { z } from 'zod';

/** What the runner reads of the SDK's messages. They come out of the sandbox, so they are parsed like any input. */
const Block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  tool_use_id: z.string().optional(),
  is_error: z.boolean().nullish(),
  content: z.unknown().optional(),
});

const Message = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('assistant'),
    parent_tool_use_id: z.string().nullish(),
    message: z.looseObject({ content: z.array(Block) }),
  }),
  z.looseObject({
    type: z.literal('user'),
    parent_tool_use_id: z.string().nullish(),
    message: z.looseObject({ content: z.union([z.string(), z.array(Block)]) }),
  }),
  z.looseObject({
    type: z.literal('result'),
    subtype: z.string(),
    is_error: z.boolean(),
    result: z.string().optional(),
    errors: z.array(z.string()).optional(),
  }),
  z.looseObject({
    type: z.literal('system'),
    subtype: z.string(),
    tasks: z.array(z.looseObject({ task_id: z.string(), task_type: z.string() })).optional(),
  }),
]);

export type ReadMessage =
  /** The main agent has taken a turn; `text` is empty when it only called tools. */
  | { readonly kind: 'said'; readonly text: string }
  | { readonly kind: 'results'; readonly bySubAgent: boolean; readonly results: readonly ToolResult[] }
  | { readonly kind: 'finished'; readonly finish: Finish }
  | { readonly kind: 'background'; readonly subAgents: number };

export interface ToolResult {
  readonly toolUseId: string;
  readonly isError: boolean;
  readonly text: string;
}

export interface Finish {
  readonly subtype: string;
  readonly isError: boolean;
  readonly text: string;
}

/** A message of interest, or nothing. */
export function readMessage(message: unknown): ReadMessage | undefined {
  const parsed = Message.safeParse(message);
  if (!parsed.success) return undefined;
  const { data } = parsed;
  switch (data.type) {
    case 'assistant': {
      const text = data.message.content.map((block) => (block.type === 'text' ? (block.text ?? '') : '')).join('');
      return data.parent_tool_use_id ? undefined : { kind: 'said', text };
    }
    case 'user':
      return {
        kind: 'results',
        bySubAgent: Boolean(data.parent_tool_use_id),
        results: typeof data.message.content === 'string' ? [] : data.message.content.flatMap(toolResult),
      };
    case 'result':
      return {
        kind: 'finished',
        finish: { subtype: data.subtype, isError: data.is_error, text: data.result ?? (data.errors ?? []).join('\n') },
      };
    case 'system':
      if (data.subtype !== 'background_tasks_changed') return undefined;
      return { kind: 'background', subAgents: (data.tasks ?? []).filter((task) => task.task_type === 'local_agent').length };
  }
}

function toolResult(block: z.infer<typeof Block>): ToolResult[] {
  if (block.type !== 'tool_result' || block.tool_use_id === undefined) return [];
  return [{ toolUseId: block.tool_use_id, isError: block.is_error === true, text: resultText(block.content) }];
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  const blocks = z.array(Block).safeParse(content);
  return blocks.success ? blocks.data.map((block) => block.text ?? '').join('') : '';
}
