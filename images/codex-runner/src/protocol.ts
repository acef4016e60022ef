import { z } from 'zod';

/**
 * What the runner reads of the app-server's messages (0.171, `codex app-server generate-ts`). They come out of the sandbox, so they are parsed like any
 * input; whatever is not as expected is refused, never accepted.
 */
export const Message = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});
export type Message = z.infer<typeof Message>;

export const CommandApproval = z.looseObject({
  kind: z.string().optional(),
  itemId: z.string(),
  approvalId: z.string().nullish(),
  command: z.string().nullish(),
  cwd: z.string().nullish(),
  networkApprovalContext: z.unknown().optional(),
  additionalPermissions: z.unknown().optional(),
});
export type CommandApproval = z.infer<typeof CommandApproval>;

export const FileApproval = z.looseObject({ itemId: z.string(), grantRoot: z.string().nullish() });
export type FileApproval = z.infer<typeof FileApproval>;

export const FileChange = z.looseObject({
  path: z.string().min(1),
  kind: z.looseObject({ type: z.enum(['add', 'delete', 'update']), move_path: z.string().nullish() }),
  diff: z.string(),
});
export type FileChange = z.infer<typeof FileChange>;

/** A thing the program does or says. `type` is open: what it does under a name unknown to us must be seen, too. */
const Item = z.looseObject({
  type: z.string(),
  id: z.string(),
  text: z.string().optional(),
  status: z.string().optional(),
  aggregatedOutput: z.string().nullish(),
  exitCode: z.number().nullish(),
  changes: z.array(FileChange).optional(),
});
export type Item = z.infer<typeof Item>;
export const ItemNotice = z.looseObject({ threadId: z.string(), item: Item });

/** An item of the model's own stream as the program keeps it: calls before they are asked for, results as they go back. */
export const RawItemNotice = z.looseObject({
  item: z.looseObject({
    type: z.string(),
    call_id: z.string().nullish(),
    name: z.string().optional(),
    arguments: z.string().optional(),
    input: z.string().optional(),
    output: z.unknown().optional(),
  }),
});
export type RawItem = z.infer<typeof RawItemNotice>['item'];

export const ThreadStarted = z.looseObject({
  thread: z.looseObject({ id: z.string() }),
  model: z.string(),
  cwd: z.string(),
  approvalPolicy: z.unknown(),
  approvalsReviewer: z.string(),
});

export const TurnStarted = z.looseObject({ turn: z.looseObject({ id: z.string() }) });

export const TurnCompleted = z.looseObject({
  threadId: z.string(),
  turn: z.looseObject({ id: z.string(), status: z.string(), error: z.looseObject({ message: z.string() }).nullish() }),
});
