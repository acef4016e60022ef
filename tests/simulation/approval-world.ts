import { randomBytes, randomUUID } from 'node:crypto';
import {
  approvalIdOf,
  DecideApprovalBody,
  EvaluateEdit,
  type OrgId,
  Problem,
  type RequestOf,
  RunId,
  runStream,
  type ServiceName,
  type TimelineEvent,
} from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore, type EventStore } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';
import { fakeClock, sequentialIds } from '@fluidbox/testing';
import { attendRun } from '../../services/approvals/src/app/attend-run';
import { settleApproval } from '../../services/approvals/src/app/settle-approval';
import { frozenRules } from '../../services/gate/src/adapters/frozen-rules';
import { evaluateEdit } from '../../services/gate/src/app/evaluate-edit';
import { requestPermission } from '../../services/gate/src/app/request-permission';
import { startRun } from '../../services/gate/src/app/running-run.fixture';

/** Where a process is killed: before its next append reaches the ledger, or after the commit and before it heard of it. */
export type Death = 'before the append' | 'after the commit';

/** A process of a service: caches of its own, and nobody who tells it what others stored. */
export interface Gate {
  ask(toolCallId: string, command: string): ReturnType<typeof requestPermission>;
}
export interface Approvals {
  decide(toolCallId: string, decision: string, by?: string, more?: object): Promise<unknown>;
  /** What the timer does. */
  attend(): ReturnType<typeof attendRun>;
}

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** The store as a process sees it that is killed at its first append. Its caller never hears anything again. */
function dying(store: EventStore, death: Death, died: () => void): EventStore {
  return {
    ...store,
    append: async (groups) => {
      if (death === 'after the commit') await store.append(groups);
      died();
      return never();
    },
    appendLocked: async (stream, after, build) => {
      if (death === 'after the commit') await store.appendLocked(stream, after, build);
      died();
      return never();
    },
  };
}

export async function approvalWorld() {
  const clock = fakeClock();
  const ids = sequentialIds();
  const store = createMemoryStore();
  const kek = kekFromBytes(randomBytes(32));
  const ledgerOf = (service: ServiceName, seen: EventStore = store) =>
    createLedger({ store: seen, keyring: createKekKeyring({ store, kek, clock }), clock, ids, service });
  let died: () => void = () => undefined;
  /** The death of the one process of this world that is to die. */
  const death = new Promise<void>((resolve) => {
    died = resolve;
  });
  const seenBy = (at?: Death): EventStore => (at === undefined ? store : dying(store, at, died));
  const runs = ledgerOf('runs');
  const gatePorts = (death?: Death) => ({ ledger: ledgerOf('gate', seenBy(death)), clock, rulesOf: frozenRules(store) });

  const newRun = async () => {
    const runId = RunId.parse(randomUUID());
    const org = 'default' as OrgId;
    const stream = runStream(runId, org);
    await startRun(runs, { runId, now: clock.now().getTime(), maxToolCalls: 1_000 });
    return {
      runId,
      gate: (death?: Death): Gate => {
        const ports = gatePorts(death);
        const asked = { run_id: runId, org, generation: 1, tool: 'Bash', mended: false };
        return { ask: (toolCallId, command) => requestPermission(ports, { ...asked, tool_call_id: toolCallId, input: { command } }) };
      },
      approvals: (death?: Death): Approvals => {
        const evaluator = gatePorts();
        const ports = {
          ledger: ledgerOf('approvals', seenBy(death)),
          clock,
          evaluateEdit: (request: RequestOf<typeof EvaluateEdit>) => evaluateEdit(evaluator, EvaluateEdit.request.parse(request)),
        };
        return {
          decide: (toolCallId, decision, by = 'grace', more = {}) =>
            settleApproval(ports, {
              org,
              approval_id: approvalIdOf(runId, toolCallId),
              principal: { name: by, role: 'approver', org },
              body: DecideApprovalBody.parse({ decision, ...more }),
            }).catch((error: unknown) => {
              if (!(error instanceof Problem)) throw error;
              return { refused: error.code, ...error.extra };
            }),
          attend: () => attendRun(ports, stream, { atLeast: Number.POSITIVE_INFINITY }),
        };
      },
      end: () =>
        runs.decide(runFold, stream, () => ({
          closes: true,
          result: undefined,
          events: (
            [
              ['running', 'finalizing', 'runner_result'],
              ['finalizing', 'completed', 'collected'],
            ] as const
          ).map(([from, to, reason]) => ({
            type: 'session.status_changed',
            actor: 'service:runs',
            data: { from, to, reason, outcome: 'completed' },
          })),
        })),
      events: async (type?: TimelineEvent['type']) =>
        ((await store.read(stream, { limit: 1_000 })) as readonly TimelineEvent[]).filter(
          (event) => type === undefined || event.type === type,
        ),
      state: async () => (await runs.state(runFold, stream, { fresh: true })).state,
    };
  };
  return { clock, newRun, death };
}
