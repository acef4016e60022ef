import type { AgentContext } from '@fluidbox/runner-lib';
import { z } from 'zod';
import { type CanonicalCall, commandCall, patchCall, patchCommandCall } from './canonical-calls';
import { CommandApproval, FileApproval, type FileChange } from './protocol';
import { scriptOf, shownLine } from './shell-words';
import type { Witness } from './witness';

export interface GateBridge {
  readonly context: Pick<AgentContext, 'client' | 'input' | 'quiesce' | 'log'>;
  readonly witness: Witness;
  /** What a patch wants to change; the program reports it before it asks. */
  readonly changesOf: (callId: string) => readonly FileChange[];
  /** Says why a call does not run; awaited before the program hears its answer. */
  readonly onDenied: (callId: string, message: string) => Promise<void>;
}

type Decision = 'accept' | 'decline';

/**
 * Answers what the program asks. `accept` is given for this one call after the gate has allowed exactly it; never for a session, never for a rule.
 * A question that is none of the two known ones is refused.
 */
export async function answerProgram(bridge: GateBridge, method: string, params: unknown): Promise<unknown> {
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return { decision: await decideCommand(bridge, CommandApproval.parse(params)) };
    case 'item/fileChange/requestApproval':
      return { decision: await decidePatch(bridge, FileApproval.parse(params)) };
    case 'mcpServer/elicitation/request':
      return { action: 'decline', content: null, _meta: null };
    default:
      bridge.context.log(`refused what the program asked: ${method}`);
      throw new Error('refused');
  }
}

async function decideCommand(bridge: GateBridge, approval: CommandApproval): Promise<Decision> {
  const { itemId, command, cwd, kind = 'command' } = approval;
  // Input for a running command, a rule for later, more rights: nothing of these is the command that the model emitted.
  const isPlain = kind === 'command' && !approval.approvalId && !approval.networkApprovalContext && !approval.additionalPermissions;
  if (!isPlain || typeof command !== 'string') return refuse(bridge, itemId, `a question of the kind ${kind} is not answered`);
  if (!isEmitted(bridge, itemId)) return refuse(bridge, itemId, 'the model has made no such call');
  const script = scriptOf(command);
  const { workspace } = bridge.context.input;
  const decision = await askTheGate(bridge, itemId, commandCall(script ?? shownLine(command), cwd ?? null, workspace));
  if (decision === 'accept' && script === null)
    return refuse(bridge, itemId, 'only bash runs one sandbox deeper; leave out `shell` and call the other shell from the command');
  return decision;
}

async function decidePatch(bridge: GateBridge, { itemId, grantRoot }: FileApproval): Promise<Decision> {
  if (grantRoot) return refuse(bridge, itemId, 'rights for the rest of the run are not given');
  if (!isEmitted(bridge, itemId)) return refuse(bridge, itemId, 'the model has made no such call');
  const changes = bridge.changesOf(itemId);
  const { workspace } = bridge.context.input;
  const written = commandBehind(bridge.witness, itemId);
  const call =
    written === undefined ? patchCall(changes, workspace) : patchCommandCall(written.cmd, written.workdir ?? null, changes, workspace);
  if (changes.length > 0) return askTheGate(bridge, itemId, call);
  // Nobody can judge a patch whose changes are not known. It is asked for all the same, so that the record has the call.
  await askTheGate(bridge, itemId, call);
  return refuse(bridge, itemId, 'what the patch changes is not known');
}

const isEmitted = ({ witness }: GateBridge, callId: string): boolean => witness.emitted(callId) !== undefined;

const ShellArguments = z.looseObject({ cmd: z.string(), workdir: z.string().nullish() });

function commandBehind(witness: Witness, callId: string): z.infer<typeof ShellArguments> | undefined {
  const call = witness.emitted(callId);
  if (call?.name !== 'exec_command') return undefined;
  return ShellArguments.parse(JSON.parse(call.arguments ?? ''));
}

/** The one place where a call is decided. Whatever goes wrong here is a refusal. */
async function askTheGate(bridge: GateBridge, callId: string, call: CanonicalCall): Promise<Decision> {
  const { client, quiesce, log } = bridge.context;
  try {
    const answer = await client.permission({ tool_call_id: callId, ...call }, quiesce.signal);
    bridge.witness.decided(callId, call.tool);
    if (answer.decision === 'deny') return refuse(bridge, callId, answer.message);
    // The program runs what the model wrote or nothing.
    if (answer.updated_input !== undefined)
      return refuse(bridge, callId, 'an edited call cannot be run by this harness: make the edited call');
    return 'accept';
  } catch (error) {
    log(`permission ${callId}: ${String(error)}`);
    bridge.witness.decided(callId, call.tool);
    return 'decline';
  }
}

async function refuse({ onDenied }: GateBridge, callId: string, message: string): Promise<'decline'> {
  await onDenied(callId, message);
  return 'decline';
}
