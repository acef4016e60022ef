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
import { accountChanges, type RunState, runFold } from '@fluidbox/run-stream';
import { fieldDigests, type RunKeys, sha256Hex } from '@fluidbox/seal';
import type { Reservation } from '../domain/admission';
import { nameOfKind } from '../domain/call-kind';
import { codexCall } from '../domain/codex-calls';
import { tidiedForms } from '../domain/compared-fields';
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
      await ports.ledger.decide(runFold, stream, (run) => {
        const events = eventsOf(run);
        return { events, accounts: accountChanges(run, stream.org, events), result: null };
      });
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

/**
 * The same for what a request came to. A run that has ended was charged what was reserved and its stream takes nothing more: only the accounts, which
 * outlive it, hear what it really cost. `costMicroUsd`: null when nobody knows.
 */
export async function bookSpend(
  ports: BookingPorts & Pick<Ports, 'accounts'>,
  caller: Caller,
  { reservationId, month, costMicroUsd: reserved }: Reservation,
  costMicroUsd: number | null,
  eventsOf: (run: RunState) => readonly EventDraft[],
): Promise<void> {
  const { stream, spec } = caller;
  if ((await book(ports, stream, eventsOf)) || costMicroUsd === null || reserved === null || costMicroUsd === reserved) return;
  const { id: runId, org } = stream;
  await ports.accounts.correct({ reservationId, runId, org, agent: spec.agent.name, month, costMicroUsd: costMicroUsd - reserved });
}

/** Ledger form of emitted calls: canonical names, salted digests of the arguments. */
export async function emittedCalls(
  ports: Pick<Ports, 'ledger'>,
  caller: Caller,
  calls: readonly ModelCall[],
): Promise<readonly EmittedCall[]> {
  if (calls.length === 0) return [];
  const digest = digestOf(await ports.ledger.keyring.keysOf(streamNameOf(caller.stream)));
  return calls.map((call) => {
    const tool = ledgerTool(caller, nameOfKind(caller.spec.harness, call));
    const written = call.input ?? call.rawInput;
    const { value } = mendAgentValue(written);
    const fields = comparedOf(caller, tool, written);
    return {
      toolCallId: ledgerCallId(call.toolCallId),
      tool,
      inputDigest: digest(value),
      ...(fields === null ? {} : digestsOf(fields, digest)),
    };
  });
}

/** Of any value: nested beyond what canonical JSON admits, its text has a digest all the same. */
const digestOf =
  (keys: Pick<RunKeys, 'digest'>) =>
  (value: unknown): string => {
    try {
      return keys.digest(value);
    } catch (error) {
      if (error instanceof Problem && error.code === 'unprocessable') return keys.digest(JSON.stringify(value));
      throw error;
    }
  };

interface Compared {
  /** As the gate must have been shown them. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly fields: readonly string[];
  /** What a field may be instead. */
  readonly others: Readonly<Record<string, readonly string[]>>;
}

/** The fields that the gate must have judged as the model wrote them; null when there are none, as in arguments that were no object. */
function comparedOf({ spec: { harness } }: Caller, tool: string, written: unknown): Compared | null {
  const names = Object.hasOwn(harness.compared_fields, tool) ? (harness.compared_fields[tool] ?? []) : [];
  if (names.length === 0) return null;
  if (harness.call_form === 'codex') {
    const foreseen = codexCall(tool, written);
    return foreseen === null ? null : mended({ ...foreseen, fields: names });
  }
  if (typeof written !== 'object' || written === null || Array.isArray(written)) return null;
  const input = mendAgentValue(written).value as Record<string, unknown>;
  const forms = names.flatMap((field) => {
    const tidied = Object.hasOwn(input, field) ? tidiedForms(field, input) : null;
    return tidied === null ? [] : [[field, tidied] as const];
  });
  return forms.length === 0 ? null : { input, fields: forms.map(([field]) => field), others: Object.fromEntries(forms) };
}

const mended = (compared: Compared): Compared => mendAgentValue(compared).value as Compared;

function digestsOf(
  { input, fields, others }: Compared,
  digest: (value: unknown) => string,
): Pick<EmittedCall, 'inputFields' | 'inputVariants'> {
  const variants = Object.entries(others).filter(([, forms]) => forms.length > 0);
  return {
    inputFields: fieldDigests({ digest }, input, fields),
    ...(variants.length === 0 ? {} : { inputVariants: Object.fromEntries(variants.map(([field, forms]) => [field, forms.map(digest)])) }),
  };
}

/** The gate refuses an id of another form, so such a call can never be decided; it is recorded under a name that the ledger can hold. */
export const ledgerCallId = (id: string): string =>
  toolCallIdPattern.test(id) ? id : `unusable:${sha256Hex(id).slice('sha256:'.length, 'sha256:'.length + 32)}`;
export const ledgerTool = (caller: Caller, tool: string): string =>
  mendAgentText(canonicalTool(caller.spec, tool)).text.slice(0, 200).toWellFormed();
