import { setTimeout as pause } from 'node:timers/promises';
import {
  type EventDraft,
  mendAgentText,
  mendAgentValue,
  Problem,
  type StreamRef,
  streamNameOf,
  toolCallIdPattern,
} from '@fluidbox/contracts';
import { type RunState, runFold } from '@fluidbox/run-stream';
import { sha256Hex } from '@fluidbox/seal';
import type { ModelCall } from '../domain/dialect';
import type { EmittedCall } from '../domain/settlement';
import type { Caller } from './authorize';
import type { Ports } from './ports';
import { canonicalTool } from './run-rules';

type BookingPorts = Pick<Ports, 'ledger' | 'queue' | 'settings' | 'log'>;

const retryMs = 250;
/** The ledger is away, not unwilling. */
const isTransient = (error: unknown): boolean => error instanceof Problem && (error.code === 'unavailable' || error.code === 'overloaded');

/**
 * Appends what a request came to. What was spent must not be lost because the database restarts, so it is tried for a while; the answer's last
 * bytes wait meanwhile. Answers false when the run has closed: its reservation was settled pessimistically and nothing can be added.
 */
export async function book(ports: BookingPorts, stream: StreamRef, eventsOf: (run: RunState) => readonly EventDraft[]): Promise<boolean> {
  for (let patienceMs = ports.settings.bookingPatienceMs; ; patienceMs -= retryMs) {
    try {
      await ports.ledger.decide(runFold, stream, (run) => ({ events: eventsOf(run), result: null }));
      return true;
    } catch (error) {
      if (error instanceof Problem && error.code === 'run_not_active') {
        ports.log.warn({ run_id: stream.id }, 'a model answer came after the end of its run; it was settled pessimistically');
        return false;
      }
      if (!isTransient(error) || patienceMs <= 0) throw error;
      await pause(retryMs);
    } finally {
      ports.queue.wake(stream.id);
    }
  }
}

/** Ledger form of emitted calls: canonical names, salted digests of the arguments. */
export async function emittedCalls(
  ports: Pick<Ports, 'ledger'>,
  caller: Caller,
  calls: readonly ModelCall[],
): Promise<readonly EmittedCall[]> {
  if (calls.length === 0) return [];
  const keys = await ports.ledger.keyring.keysOf(streamNameOf(caller.stream));
  const digestOf = (call: ModelCall): string => {
    try {
      return keys.digest(mendAgentValue(call.input ?? call.rawInput).value);
    } catch (error) {
      // Nested beyond what canonical JSON admits: its text has a digest all the same.
      if (error instanceof Problem && error.code === 'unprocessable') return keys.digest(mendAgentText(call.rawInput).text);
      throw error;
    }
  };
  return calls.map((call) => ({
    toolCallId: ledgerCallId(call.toolCallId),
    tool: ledgerTool(caller, call.tool),
    inputDigest: digestOf(call),
  }));
}

/** The gate refuses an id of another form, so such a call can never be decided; it is recorded under a name that the ledger can hold. */
export const ledgerCallId = (id: string): string =>
  toolCallIdPattern.test(id) ? id : `unusable:${sha256Hex(id).slice('sha256:'.length, 'sha256:'.length + 32)}`;
export const ledgerTool = (caller: Caller, tool: string): string =>
  mendAgentText(canonicalTool(caller.spec, tool)).text.slice(0, 200).toWellFormed();
