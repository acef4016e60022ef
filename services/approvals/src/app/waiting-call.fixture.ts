import { approvalIdOf, type EventDraft } from '@fluidbox/contracts';

const digest = `sha256:${'a'.repeat(64)}`;

export const draft = (type: string, data: Record<string, unknown>, content?: unknown) =>
  ({ type, actor: 'service:test', data, ...(content === undefined ? {} : { content }) }) as unknown as EventDraft;

/** A call that the gate has put before a person, who has until `expiresAt`. */
export const waitingCall = (runId: string, call: string, expiresAt: number): EventDraft[] => [
  draft('tool.requested', { tool_call_id: call, tool: 'Bash', input_digest: digest, generation: 1 }, { input: {}, summary: 's' }),
  draft(
    'approval.requested',
    {
      approval_id: approvalIdOf(runId, call),
      tool_call_id: call,
      tool: 'Bash',
      input_digest: digest,
      scope: 'once',
      scope_digest: digest,
      approvers: 1,
      exclude_requester: false,
      policy_digest: digest,
      engine_version: '1',
      expires_at: new Date(expiresAt).toISOString(),
    },
    { reason: 'r', risk: null, scope_key: 'Bash:x' },
  ),
];
