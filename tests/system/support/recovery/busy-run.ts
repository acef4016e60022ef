import { approvalIdOf, type EventView, type ServiceName, serviceNames } from '@fluidbox/contracts';
import { until } from '@fluidbox/testing';
import type { MessagesRequest, ModelStep } from '@fluidbox/testing/model';
import type { SystemStack } from '../stack';
import { typesOf } from '../wire-run';
import { faultsOfRun, workOf } from './check-run';
import { sandboxStands, supervisorOf, watchSandboxes } from './processes-of-run';

/** Allows echo, asks for cp: a run has one call of each kind that matters here. */
const busyPolicy = `
name: busy
defaults: { tool_action: deny }
approvals: { default_ttl_secs: 300 }
tools:
  - match: [Bash]
    action: allow
    shell: { allow: [echo], ask: [cp], on_no_match: deny }
    paths: { allow: ["/workspace/**"] }
`;

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'x' } });

/** Streams long enough to be met open. */
const eventDelayMs = 60;
const turns: readonly ModelStep[] = [
  { text: 'First a note.', tools: [bash('echo first >> notes.txt')], eventDelayMs },
  { text: 'Now a copy.', tools: [bash('cp notes.txt copy.txt')], eventDelayMs },
  { text: 'And one more.', tools: [bash('echo second >> notes.txt')], eventDelayMs },
  { text: 'Done.', eventDelayMs },
];
/** What a run that completed has left behind: each command ran exactly once. */
const busyWork = { 'copy.txt': ['first'], 'notes.txt': ['first', 'second'] };

export const busyScript = (request: MessagesRequest): ModelStep => {
  const turn = request.messages.filter(({ role }) => role === 'assistant').length;
  return (request.tools ?? []).length === 0 ? { text: 'ok' } : (turns[turn] ?? { text: 'Done.' });
};

/** When a victim is hit. Each waits for something that can be seen from outside, never for time to pass. */
export const moments = [
  'run created',
  'workspace ready, sandbox not started',
  'supervisor runs, sandbox not started',
  'model stream open',
  'call waits for approval',
  'just approved',
  'run winds down',
] as const;
export type Moment = (typeof moments)[number];

export interface BusyRun {
  readonly id: string;
  events(): Promise<EventView[]>;
  /** Resolves once the run has come to this point. False: it had passed it before it was seen there, as happens on a busy machine. */
  reached(moment: Moment): Promise<boolean>;
  approve(): Promise<void>;
  /** Events of the run once it is over. */
  over(): Promise<EventView[]>;
  faults(): Promise<string[]>;
  stop(): void;
}

const patience = { timeoutMs: 200_000, everyMs: 20 };

export async function prepareBusyRuns(stack: SystemStack): Promise<void> {
  await stack.admin.importPolicy('busy', { source: busyPolicy });
  await stack.admin.createAgent({ name: 'busy', policy: 'busy' });
}

/** Starts a run of the real Claude Agent SDK: four turns of the scripted model, one call that a person decides. */
export async function startBusyRun(stack: SystemStack, name: string): Promise<BusyRun> {
  const { session } = await stack.admin.createSession({ agent: 'busy', task: `busy ${name}` });
  const { id } = session;
  const sandboxes = watchSandboxes(stack.home, id);
  const events = (): Promise<EventView[]> => stack.admin.allEvents(id);
  const has = async (type: string): Promise<boolean> => typesOf(await events(), type).length > 0;
  const askedCall = async (): Promise<string> => {
    const [asked] = typesOf(await events(), 'approval.requested');
    return asked === undefined ? '' : String(asked.data.tool_call_id);
  };
  const approve = async (): Promise<void> => {
    const approval = approvalIdOf(id, await until(askedCall, patience));
    await until(async () => {
      const { status } = await stack.admin.approval(approval);
      if (status !== 'pending') return status === 'approved';
      return (await stack.admin.decide(approval, { decision: 'approve' })).approval.status === 'approved';
    }, patience);
  };
  const streamOpen = (): boolean =>
    stack.model.requests.some(
      ({ body, emitted, status }) => emitted.length > 0 && status === 0 && JSON.stringify(body).includes(`busy ${name}`),
    );
  // Asked of the host: the moment is short, and a request would take a good part of it.
  const isNotStarted = (): boolean => !sandboxStands(stack.home, id);
  const over = async (): Promise<EventView[]> => {
    await until(() => has('run.result'), { ...patience, everyMs: 150 });
    return events();
  };
  return {
    id,
    events,
    approve,
    over,
    async reached(moment) {
      switch (moment) {
        case 'run created':
          return true;
        case 'workspace ready, sandbox not started':
          await until(() => has('workspace.initialized'), { ...patience, everyMs: 5 });
          return isNotStarted();
        case 'supervisor runs, sandbox not started':
          await until(() => supervisorOf(stack.home, id), { ...patience, everyMs: 5 });
          return isNotStarted();
        case 'model stream open':
          await until(streamOpen, { ...patience, everyMs: 5 });
          return true;
        case 'call waits for approval':
          await until(askedCall, patience);
          return true;
        case 'just approved':
          await approve();
          return true;
        case 'run winds down':
          await approve();
          await until(async () => typesOf(await events(), 'session.status_changed').some(({ data }) => data.to === 'finalizing'), {
            ...patience,
            everyMs: 5,
          });
          return true;
      }
    },
    async faults() {
      const all = await over();
      const faults = await faultsOfRun(stack, id, all, sandboxes.most());
      if (sandboxes.most() === 0 && typesOf(all, 'sandbox.started').length > 0) faults.push('its sandbox was never seen');
      if (all.at(-1)?.data.outcome !== 'completed') return faults;
      const work = await workOf(stack, id);
      if (JSON.stringify(work, Object.keys(busyWork)) !== JSON.stringify(busyWork)) faults.push(`it left ${JSON.stringify(work)}`);
      return faults;
    },
    stop: () => sandboxes.stop(),
  };
}

/** What `up --processes` keeps running. */
export type Part = ServiceName | 'postgres' | 'nats';
export const parts: readonly Part[] = [...serviceNames, 'postgres', 'nats'];

/** kill -9 of one process of the stack. Answers how to wait until it has been started again. */
export function killPart(stack: SystemStack, name: Part): () => Promise<void> {
  const pidNow = (): number => {
    const found = stack.current().processes.find((each) => each.name === name);
    if (found === undefined) throw new Error(`no process ${name} in up.json`);
    return found.pid;
  };
  const victim = pidNow();
  process.kill(victim, 'SIGKILL');
  return async () => {
    await until(() => pidNow() !== victim, patience);
  };
}
