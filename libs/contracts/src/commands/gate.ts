import { z } from 'zod';
import { ApprovalId, Digest, Timestamp, ToolCallId } from '../ids';
import { HistoryCondition, historyConditionsMax } from '../policy-history';
import { PermissionAnswer, ResolvedPaths } from '../runner-plane';
import { command, run } from './command';

/** runner-gateway → gate. Same id and digest: the stored answer. `pending` = a person must decide; ask again on wake, reconnect and at `expires_at`. */
export const RequestPermission = command(
  'gate',
  'request_permission',
  z.strictObject({
    ...run,
    generation: z.number().int(),
    tool_call_id: ToolCallId,
    tool: z.string().min(1).max(256),
    input: z.record(z.string(), z.unknown()),
    resolved_paths: ResolvedPaths.optional(),
    mended: z.boolean(),
  }),
  z.discriminatedUnion('status', [
    z.strictObject({ status: z.literal('decided'), answer: PermissionAnswer }),
    z.strictObject({ status: z.literal('pending'), approval_id: ApprovalId, expires_at: Timestamp }),
  ]),
);
/** approvals → gate: would the edited input be denied? Appends nothing. */
export const EvaluateEdit = command(
  'gate',
  'evaluate_edit',
  z.strictObject({ ...run, tool_call_id: ToolCallId, input: z.record(z.string(), z.unknown()) }),
  z.strictObject({
    verdict: z.enum(['allow', 'ask', 'deny']),
    reason: z.string(),
    edited_digest: Digest,
    /** Where the policy has history conditions: which of them the edited input counts for, and the version of the run's stream it was judged at. */
    history: z.strictObject({ matches: z.array(HistoryCondition).max(historyConditionsMax), at_version: z.number().int() }).optional(),
  }),
);
