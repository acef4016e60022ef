import { randomBytes, randomUUID } from 'node:crypto';
import {
  type EventDraft,
  harnesses,
  LaunchRun,
  Problem,
  type ReplyOf,
  RunSpec,
  runStream,
  type ServiceName,
  type StreamRef,
  streamNameOf,
  type TimelineEvent,
  type WorkspaceInput,
} from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore, type EventStore, type Ledger } from '@fluidbox/event-store';
import { isTerminal, type RunState, runFold } from '@fluidbox/run-stream';
import { type GrantedKeyring, grantedKeyring, kekFromBytes } from '@fluidbox/seal';
import { createdRun } from '@fluidbox/testing';

const org = 'default';
const digest = `sha256:${'a'.repeat(64)}`;
const actor = 'service:runs';
const clock = { now: () => new Date() };
const ids = { uuid: () => randomUUID() };
const minutes = (count: number): string => new Date(Date.now() + count * 60_000).toISOString();

/**
 * A ledger with the part of `runs` that a scheduler depends on, played as its contract says: launch gives generations, statuses follow the
 * facts. Each `schedulerLedger()` is a process that has just started: it holds no keys.
 */
export class PlayedRuns {
  constructor(readonly store: EventStore = createMemoryStore()) {}
  readonly #keyring = createKekKeyring({ store: this.store, kek: kekFromBytes(randomBytes(32)), clock });
  readonly #runs = this.#ledger('runs', this.#keyring);
  readonly #tasks = new Map<string, string>();

  schedulerLedger(): { ledger: Ledger; keyring: GrantedKeyring } {
    const keyring = grantedKeyring('scheduler');
    return { keyring, ledger: this.#ledger('scheduler', keyring) };
  }

  async create(options: { task: string; workspace: WorkspaceInput; runnerDigest: string }): Promise<StreamRef> {
    const stream = runStream(randomUUID(), org);
    const { id, image, dialect, toolNames, noEffectTools, refusal, environment, tools } = harnesses.scripted;
    const budgets = { max_wall_clock_secs: 600, max_tokens: null, max_cost_micro_usd: null, max_tool_calls: null };
    const spec = RunSpec.parse({
      spec_version: 1,
      run_id: stream.id,
      org,
      created_at: clock.now().toISOString(),
      agent: { id: stream.id, name: 'fixer', revision: 1 },
      harness: { id, image, dialect, tool_names: toolNames, no_effect_tools: noEffectTools, refusal, environment },
      runner_digest: options.runnerDigest,
      model: 'none',
      task_digest: digest,
      system_prompt_digest: null,
      policy: { name: 'default', version: 1, digest, source: '', document: {} },
      workspace: options.workspace,
      autonomy: 'supervised',
      trust_tier: 'trusted',
      budgets,
      tool_surface: tools,
      price_table: { version: '1', digest, price: null },
      invocation: { kind: 'api', principal: 'ada' },
    });
    const specDigest = await this.store.putDocument(Buffer.from(JSON.stringify(spec)));
    const created: EventDraft = {
      type: 'session.created',
      actor,
      data: createdRun(stream.id, { harness: id, spec_digest: specDigest, budgets, workspace_kind: options.workspace.kind }),
      content: { task: options.task, system_prompt: null },
    };
    await this.#runs.decide(runFold, stream, () => ({
      events: [created],
      result: null,
      createKeys: this.#keyring.create(streamNameOf(stream)),
    }));
    this.#tasks.set(stream.id, options.task);
    return stream;
  }

  async launch(stream: StreamRef): Promise<ReplyOf<typeof LaunchRun>> {
    const valid = minutes(15);
    const launched = await this.#runs.decide(runFold, stream, (run) => {
      if (!['created', 'provisioning', 'initializing'].includes(run.status))
        throw new Problem('run_not_active', 'the run is not being launched');
      const generation = run.generation + 1;
      const lease: EventDraft = { type: 'lease.granted', actor, data: { generation, valid_until: valid } };
      return {
        events: [...(run.status === 'created' ? [status(run, 'provisioning')] : []), lease],
        setGeneration: generation,
        result: { generation, specDigest: run.specDigest },
      };
    });
    return LaunchRun.reply.parse({
      generation: launched.generation,
      valid_until: valid,
      tokens: { tool: `tool-${launched.generation}`, control: 'c', workspace: 'w', llm: 'l' },
      keys: await this.runKeys(stream),
      task: this.#tasks.get(stream.id),
      system_prompt: null,
      spec_digest: launched.specDigest,
    });
  }

  async runKeys(stream: StreamRef): Promise<{ rest: string; salt: string }> {
    return (await this.#keyring.keysOf(streamNameOf(stream))).exportRest();
  }

  /** Lets the run react to what was recorded; answers whether it moved. */
  async react(stream: StreamRef): Promise<boolean> {
    return this.#runs.decide(runFold, stream, (run) => {
      const next = reaction(run);
      if (next === null) return { events: [], result: false };
      return { events: [status(run, next)], result: true, closes: next === 'completed' };
    });
  }

  /** The runner reported its result, or somebody cancelled: either way the sandbox is no longer needed. */
  async finalize(stream: StreamRef): Promise<void> {
    await this.#runs.decide(runFold, stream, (run) => ({
      events: run.status === 'finalizing' || isTerminal(run) ? [] : [status(run, 'finalizing')],
      result: null,
    }));
  }

  async extendLease(stream: StreamRef, minutesAhead: number): Promise<string> {
    const valid = minutes(minutesAhead);
    await this.#runs.decide(runFold, stream, (run) => ({
      events: [{ type: 'lease.granted', actor, data: { generation: run.generation, valid_until: valid } }],
      result: null,
    }));
    return valid;
  }

  async state(stream: StreamRef): Promise<RunState> {
    return (await this.#runs.state(runFold, stream, { fresh: true })).state;
  }

  async events(stream: StreamRef): Promise<readonly TimelineEvent[]> {
    return (await this.store.read(stream)) as readonly TimelineEvent[];
  }

  content(stream: StreamRef, seq: number): Promise<unknown> {
    return this.#runs.content(stream, seq, 'rest');
  }

  #ledger(service: ServiceName, keyring: GrantedKeyring | ReturnType<typeof createKekKeyring>): Ledger {
    return createLedger({ store: this.store, keyring, clock, ids, service });
  }
}

const status = (run: RunState, to: RunState['status']): EventDraft => ({
  type: 'session.status_changed',
  actor,
  data: { from: run.status, to, reason: 'launched' },
});

function reaction(run: RunState): RunState['status'] | null {
  const alive = run.sandbox !== null && !run.sandbox.exited;
  switch (run.status) {
    case 'provisioning':
      return run.sandbox?.exited === true ? 'finalizing' : run.workspaceReady ? 'initializing' : null;
    case 'initializing':
      return alive ? 'running' : run.sandbox?.exited === true ? 'finalizing' : null;
    case 'running':
      return alive ? null : 'finalizing';
    case 'finalizing':
      return run.diff !== null && !alive ? 'completed' : null;
    default:
      return null;
  }
}
