import { setTimeout as delay } from 'node:timers/promises';
import { type LogMessage, Problem, type RecordedEvent } from '@fluidbox/contracts';
import type { AppendGroup, AppendResult } from '../api';
import { checkGroup } from '../domain/check-group';
import { logMessageOf, recordedOf } from '../domain/recorded';
import { AppendQueue, type Entry, type PlannedUnit, type QueueLimits } from './append-queue';
import { appendQuery, outcomeOf, type UnitOutcome, type UnitRow } from './batch';
import type { Connection } from './connection';
import { failureOf, unavailable } from './errors';
import type { Reader } from './reader';

export interface AppenderOptions {
  readonly limits: QueueLimits;
  /** How long callers wait for a database that does not answer. */
  readonly retryMs: number;
  readonly connection: Connection;
  readonly reader: Reader;
  readonly publish: (message: LogMessage) => void;
}

const knownStreamsMax = 100_000;
const retryDelayMsMax = 1_000;

/**
 * Group commit: while one batch commits the next one fills; no timer. One statement and one commit per batch, answers after the commit.
 * A batch whose connection broke is sent again as it is: event ids tell what had been stored, so nothing acknowledged is lost and nothing is doubled.
 */
export class GroupCommitAppender {
  readonly #queue: AppendQueue;
  /** Streams that certainly have a head. Others cost a look-up in the statement. */
  readonly #known = new Set<string>();
  #pump: Promise<void> | null = null;
  #closed = false;

  constructor(private readonly options: AppenderOptions) {
    this.#queue = new AppendQueue(options.limits);
  }

  append(groups: readonly AppendGroup[]): Promise<AppendResult[]> {
    if (this.#closed) throw new Problem('unavailable', 'the event store is closed; nothing was stored');
    for (const group of groups) checkGroup(group);
    const results = groups.map((group) => this.#queue.add(group));
    this.#pump ??= this.#run();
    return Promise.all(results);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pump;
  }

  async #run(): Promise<void> {
    do {
      // Lets everybody who was answered by the last batch, or runs in this turn, come along.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#commit(this.#queue.next());
    } while (!this.#queue.empty);
    this.#pump = null;
  }

  async #commit(units: readonly PlannedUnit[]): Promise<void> {
    try {
      const outcomes = await this.#send(units);
      units.forEach((unit, index) => {
        const outcome = outcomes[index];
        if (outcome === undefined) throw new Error(`no outcome for ${unit.stream}`);
        this.#settle(unit, outcome);
      });
    } catch (error) {
      await this.#recover(units, error);
    }
  }

  /** One statement, sent again while the database does not answer, up to the bound. */
  async #send(units: readonly PlannedUnit[]): Promise<UnitOutcome[]> {
    const query = appendQuery(
      units,
      units.some((unit) => !this.#known.has(unit.stream)),
    );
    const until = performance.now() + this.options.retryMs;
    for (let tries = 0; ; tries += 1) {
      try {
        const { rows } = await this.options.connection.query<UnitRow>(query);
        const outcomes: UnitOutcome[] = [];
        for (const row of rows) outcomes[row.unit - 1] = outcomeOf(row);
        return outcomes;
      } catch (error) {
        if (failureOf(error) !== 'retry') throw error;
        if (performance.now() > until) throw unavailable('append', error);
        await delay(Math.min(retryDelayMsMax, 10 * 2 ** tries));
      }
    }
  }

  /** A batch that failed as a whole: who can be answered from what was stored is; the others go alone, so that one wrong group harms nobody else. */
  async #recover(units: readonly PlannedUnit[], error: unknown): Promise<void> {
    const failure = failureOf(error);
    const entries = units.flatMap((unit) => unit.entries);
    if (error instanceof Problem || failure === 'refused') {
      const problem = error instanceof Problem ? error : unavailable('append', error);
      for (const entry of entries) entry.reject(problem);
      return;
    }
    if (failure === 'duplicate') {
      const left = await this.#answerStored(entries);
      // One that is stored in part belongs to no caller who keeps his ids.
      if (left.length < entries.length) return this.#again(left);
    }
    if (entries.length > 1) return this.#again(entries);
    for (const entry of entries) entry.reject(new Problem('internal', `append to ${entry.stream} failed`, { cause: error }));
  }

  async #again(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) await this.#commit([{ stream: entry.stream, groups: [entry.group], entries: [entry] }]);
  }

  /** Answers the entries whose events are stored already; the rest comes back. */
  async #answerStored(entries: readonly Entry[]): Promise<Entry[]> {
    const left: Entry[] = [];
    try {
      const stored = await this.options.reader.byIds(entries.flatMap((entry) => entry.group.events.map((event) => event.eventId)));
      for (const entry of entries) {
        const result = storedResult(entry.group, stored);
        if (result === null) left.push(entry);
        else entry.resolve(result);
      }
      return left;
    } catch (error) {
      for (const entry of entries) entry.reject(error);
      return [];
    }
  }

  #settle(unit: PlannedUnit, outcome: UnitOutcome): void {
    if (outcome.status === 'ok') {
      if (this.#known.size >= knownStreamsMax) this.#known.clear();
      this.#known.add(unit.stream);
      this.#stored(unit, outcome);
      return;
    }
    for (const entry of unit.entries) {
      this.options.reader.refusal(entry.group, outcome).then(entry.resolve, entry.reject);
    }
  }

  #stored(unit: PlannedUnit, outcome: UnitOutcome): void {
    const stored = storedEvents(unit.groups, outcome);
    const lead = unit.groups[0];
    if (lead !== undefined) this.options.publish(logMessageOf(lead.stream, outcome.generation, stored.log));
    let at = 0;
    for (const entry of unit.entries) {
      const events = stored.recorded.slice(at, at + entry.group.events.length);
      at += events.length;
      entry.resolve({ ok: true, firstSeq: outcome.version + at - events.length + 1, lastSeq: outcome.version + at, events });
    }
  }
}

/** What the statement gave a place to, in order. */
export function storedEvents(
  groups: readonly AppendGroup[],
  outcome: UnitOutcome,
): { recorded: RecordedEvent[]; log: { seq: number; globalPosition: number; body: string }[] } {
  const recorded: RecordedEvent[] = [];
  const log: { seq: number; globalPosition: number; body: string }[] = [];
  for (const event of groups.flatMap((group) => group.events)) {
    const seq = outcome.version + recorded.length + 1;
    const globalPosition = outcome.positions[recorded.length] ?? 0;
    recorded.push(recordedOf(seq, globalPosition, event.ledger.body()));
    log.push({ seq, globalPosition, body: event.ledger.bytes().toString('utf8') });
  }
  return { recorded, log };
}

/** The answer to a group that was stored by an earlier try; null when it was not. */
export function storedResult(group: AppendGroup, stored: ReadonlyMap<string, RecordedEvent>): AppendResult | null {
  const events = group.events.flatMap((event) => stored.get(event.eventId) ?? []);
  const first = events[0];
  const last = events.at(-1);
  if (events.length < group.events.length || first === undefined || last === undefined) return null;
  return { ok: true, firstSeq: first.seq, lastSeq: last.seq, events };
}
