import {
  mendAgentText,
  mendAgentValue,
  type PermissionAnswer,
  type PermissionRequest,
  Problem,
  type RequestOf,
  RequestPermission,
} from '@fluidbox/contracts';
import { nextQuestionMs } from '../domain/next-question';
import type { ParkedCall } from './parked-calls';
import type { Caller, Ports } from './ports';

/** More calls of one run than can be honest; each holds a connection. */
const parkedPerRunMax = 256;

type Question = RequestOf<typeof RequestPermission>;

export interface Waiting {
  /** Called once, when the gate has said that a person must decide. */
  readonly onPending: () => void;
  /** Left when the caller goes or the service stops: the question is dropped, nothing is settled. */
  readonly call: ParkedCall;
}

/** Text of the agent is mended before anybody digests or stores it; `mended` makes it unknown to policy, so that nothing allows it. */
export function questionOf(caller: Caller, request: PermissionRequest): Question {
  const tool = mendAgentText(request.tool);
  const input = mendAgentValue(request.input);
  // File names come from the agent, too.
  const resolved = request.resolved_paths === undefined ? null : mendAgentValue(request.resolved_paths);
  return {
    run_id: caller.runId as Question['run_id'],
    org: caller.org as Question['org'],
    generation: caller.generation,
    tool_call_id: request.tool_call_id,
    tool: tool.text,
    input: input.value as Record<string, unknown>,
    ...(resolved === null ? {} : { resolved_paths: resolved.value as string[] }),
    mended: tool.mended || input.mended || resolved?.mended === true,
  };
}

/**
 * Asks the gate until it has decided. The run's log is watched before the first question, so no settlement falls between an answer `pending` and the
 * wait for it. While it waits it holds a timer and nothing else: no polling, no database connection. Null when the caller has gone.
 */
export async function askPermission(ports: Ports, question: Question, { onPending, call }: Waiting): Promise<PermissionAnswer | null> {
  if (ports.wakeUps.watchers(question.run_id) >= parkedPerRunMax)
    throw new Problem('overloaded', 'too many calls of this run wait for an answer');
  const bell = new Bell();
  const unwatch = ports.wakeUps.watch(question.run_id, question.tool_call_id, () => bell.ring());
  call.onLeave(() => bell.ring());
  let pending = false;
  try {
    for (let askedAfterExpiry = 0; !call.left; ) {
      bell.rearm();
      const reply = await ports.bus.request(RequestPermission, question);
      if (reply.status === 'decided') return reply.answer;
      if (!pending) onPending();
      pending = true;
      const now = ports.clock.now().getTime();
      const expiresAt = Date.parse(reply.expires_at);
      // Left while the gate was asked: the ring came before, or it is heard now.
      if (!call.left) await bell.rungWithin(nextQuestionMs(expiresAt, now, askedAfterExpiry));
      if (ports.clock.now().getTime() >= expiresAt) askedAfterExpiry += 1;
    }
    return null;
  } finally {
    unwatch();
  }
}

/** Remembers that it rang, so that a ring between the question and the wait is not lost. */
class Bell {
  private rung = false;
  private onRing: (() => void) | undefined;

  ring(): void {
    this.rung = true;
    this.onRing?.();
  }

  rearm(): void {
    this.rung = false;
  }

  rungWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.rung) {
        resolve();
        return;
      }
      const done = (): void => {
        clearTimeout(timer);
        this.onRing = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.onRing = done;
    });
  }
}
