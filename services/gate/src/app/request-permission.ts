import {
  type ParsedRequestOf,
  type PermissionAnswer,
  Problem,
  type ReplyOf,
  type RequestPermission,
  runStream,
  type StreamRef,
  streamNameOf,
} from '@fluidbox/contracts';
import { gateProjection, matchesOf } from '@fluidbox/policy';
import { type CallState, exists, isTerminal, leaseRefusal, type RunState, runFold } from '@fluidbox/run-stream';
import { fieldDigests } from '@fluidbox/seal';
import { decidePermission, type PermissionOutcome } from '../domain/permission';
import { summaryOf } from '../domain/summary';
import type { Ports } from './ports';

type Reply = ReplyOf<typeof RequestPermission>;

/** load → decide → append → reply. Answers at once: a call that a person must decide is `pending`, and whoever waits asks again. */
export async function requestPermission(ports: Ports, request: ParsedRequestOf<typeof RequestPermission>): Promise<Reply> {
  const stream = runStream(request.run_id, request.org);
  const now = (): number => ports.clock.now().getTime();
  const run = await loadRun(ports, stream, (state) => mayBeBehind(state, request, now()));
  if (!exists(run)) throw new Problem('not_found', 'there is no such run');
  // A run that ended may have lost its keys, and nothing about it is decided any more.
  const keys = isTerminal(run) ? null : await ports.ledger.keyring.keysOf(streamNameOf(stream));
  const rules = await ports.rulesOf(run.specDigest);
  const { tool, input, mended, generation } = request;
  const projection = gateProjection({
    tool,
    input,
    mended,
    ...(request.resolved_paths === undefined ? {} : { resolvedPaths: request.resolved_paths }),
  });
  const call = {
    toolCallId: request.tool_call_id,
    tool,
    input,
    generation,
    inputDigest: keys?.digest(input) ?? '',
    // A runner names the tool: `constructor` must not be found on every object.
    inputFields:
      keys === null || !Object.hasOwn(rules.comparedFields, tool) ? undefined : fieldDigests(keys, input, rules.comparedFields[tool]),
    projection,
    matches: matchesOf(rules.policy, projection),
    summary: summaryOf(tool, input),
  };
  const outcome = await ports.ledger.decide(runFold, stream, (state) =>
    decidePermission(state, call, { now: now(), rules, scopeDigest: (key) => keys?.digest(key) ?? '' }),
  );
  if (outcome instanceof Problem) throw outcome;
  return reply(ports, stream, outcome);
}

async function loadRun(ports: Ports, stream: StreamRef, isSuspect: (run: RunState) => boolean): Promise<RunState> {
  const { state } = await ports.ledger.state(runFold, stream);
  return isSuspect(state) ? (await ports.ledger.state(runFold, stream, { fresh: true })).state : state;
}

/**
 * An answer that appends nothing is not checked against the stream's version, so what it rests on is read to the head first: a run we
 * do not know, a lease that looks dead, a call whose approval may have been settled a moment ago.
 */
function mayBeBehind(run: RunState, request: { readonly generation: number; readonly tool_call_id: string }, now: number): boolean {
  if (!exists(run) || leaseRefusal(run, request.generation, now) !== null) return true;
  const known = run.calls.get(request.tool_call_id);
  return known !== undefined && known.decision === null;
}

async function reply(ports: Ports, stream: StreamRef, outcome: PermissionOutcome): Promise<Reply> {
  switch (outcome.kind) {
    case 'allowed':
      return { status: 'decided', answer: { decision: 'allow' } };
    case 'denied':
      return { status: 'decided', answer: { decision: 'deny', message: outcome.message, code: outcome.code } };
    case 'pending':
      return { status: 'pending', approval_id: outcome.approvalId, expires_at: new Date(outcome.expiresAt).toISOString() };
    case 'stored':
      return { status: 'decided', answer: await storedAnswer(ports, stream, outcome.call) };
  }
}

/** The first answer, with its own texts; they are content and may have been erased. */
async function storedAnswer({ ledger }: Ports, stream: StreamRef, { decision, approval }: CallState): Promise<PermissionAnswer> {
  if (decision === null) throw new Error('asked for the answer of a call that is not decided');
  if (decision.verdict === 'deny') {
    const content = await ledger.content(stream, decision.seq, 'rest');
    const message = isRecord(content) && typeof content.message === 'string' ? content.message : 'This call was denied.';
    return { decision: 'deny', message, code: decision.code };
  }
  if (decision.editedDigest === null) return { decision: 'allow' };
  const content = approval?.settled == null ? null : await ledger.content(stream, approval.settled.seq, 'rest');
  const edited = isRecord(content) ? content.edited_input : null;
  // The person approved another input than the one asked for; without it there is nothing that may run.
  if (!isRecord(edited)) return { decision: 'deny', message: 'The approved input is no longer available.', code: 'edited_input_erased' };
  return { decision: 'allow', updated_input: edited };
}

const isRecord = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value);
