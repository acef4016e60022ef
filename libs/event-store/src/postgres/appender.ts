import { Problem } from '@fluidbox/contracts';
import type { AppendGroup, AppendResult } from '../api';
import { checkGroup } from '../domain/check-group';
import { logMessageOf } from '../domain/recorded';
import { storedResult } from '../domain/stored-result';
import { AppendQueue, type Entry, type PlannedUnit, type QueueLimits } from './append-queue';
import { appendQuery, outcomesOf, type Query, type UnitOutcome, type UnitRow } from './batch';
import type { CommitLog } from './commit-log';
import type { Connection } from './connection';
import { storedGroups } from './encoded';
import { failureOf, unavailable } from './errors';
import { type QuickRow, quickAppend } from './quick-append';
import type { Reader } from './reader';
import { untilAnswered } from './retry';

export interface AppenderOptions {
  readonly limits: QueueLimits;
  /** How long callers wait for a database that does not answer. */
  readonly retryMs: number;
  /** One batch at a time on each. Two let one batch be prepared and answered while the other is being flushed to disk. */
  readonly connections: readonly Connection[];
  readonly reader: Reader;
  readonly log: CommitLog;
}

const knownStreamsMax = 100_000;

/**
 * Group commit: while batches commit the next one fills; no timer. One statement and one commit per batch, answers after the commit.
 * A batch whose connection broke is sent again as it is: event ids tell what had been stored, so nothing acknowledged is lost and nothing is doubled.
 */
export class GroupCommitAppender {
  readonly #queue: AppendQueue;
  /** Streams that certainly have a head. Others cost a look-up in the statement. */
  readonly #known = new Set<string>();
  /** Streams of the batches that are under way: two batches never hold the same one. */
  readonly #busy = new Set<string>();
  readonly #idle: Connection[];
  readonly #running = new Set<Promise<void>>();
  #committing = 0;
  #closed = false;

  constructor(private readonly options: AppenderOptions) {
    this.#queue = new AppendQueue(options.limits);
    this.#idle = [...options.connections];
  }

  append(groups: readonly AppendGroup[]): Promise<AppendResult[]> {
    if (this.#closed) throw new Problem('unavailable', 'the event store is closed; nothing was stored');
    for (const group of groups) checkGroup(group);
    const results = this.#queue.add(groups);
    this.#start();
    return Promise.all(results);
  }

  async close(): Promise<void> {
    this.#closed = true;
    while (this.#running.size > 0) await Promise.all(this.#running);
    this.options.log.flush();
  }

  #start(): void {
    if (this.#queue.empty) return;
    const connection = this.#idle.pop();
    if (connection === undefined) return;
    const running = this.#run(connection).finally(() => {
      this.#idle.push(connection);
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  async #run(connection: Connection): Promise<void> {
    for (;;) {
      // Lets everybody who was answered by the last batch, or runs in this turn, come along. The log comes behind: it hears of that batch while the next
      // one is under way, so that no caller waits for it.
      const turn = new Promise((resolve) => setImmediate(resolve));
      setImmediate(() => this.options.log.turn());
      await turn;
      const units = this.#queue.next(this.#busy, this.options.connections.length - this.#committing);
      if (units.length === 0) return;
      for (const unit of units) this.#busy.add(unit.stream);
      // What was left for the other connection.
      this.#start();
      this.#committing += 1;
      await this.#commit(connection, units);
      this.#committing -= 1;
      for (const unit of units) this.#busy.delete(unit.stream);
      // What waited for these streams may go with the other connection.
      this.#start();
    }
  }

  async #commit(connection: Connection, units: readonly PlannedUnit[]): Promise<void> {
    const mayCreate = units.some((unit) => !this.#known.has(unit.stream));
    let left = units;
    try {
      if (!mayCreate) {
        left = await this.#storeQuickly(connection, units);
        if (left.length === 0) return;
      }
      const query = appendQuery(left, mayCreate);
      const outcomes = outcomesOf((await this.#send<UnitRow>(connection, query)).rows, left);
      left.forEach((unit, index) => {
        const outcome = outcomes[index];
        if (outcome === undefined) throw new Error(`no outcome for ${unit.stream}`);
        this.#settle(unit, outcome);
      });
    } catch (error) {
      await this.#recover(connection, left, error);
    }
  }

  /** By the statement that costs least, if there is one for these units; answers those of which it stored nothing. */
  async #storeQuickly(connection: Connection, units: readonly PlannedUnit[]): Promise<readonly PlannedUnit[]> {
    const quick = quickAppend(units);
    if (quick === null) return units;
    const stored = await this.#send<QuickRow>(connection, quick.query).then(({ rows }) => quick.stored(rows), quick.unlessRefused);
    for (const unit of units) {
      const outcome = stored.get(unit.stream);
      if (outcome !== undefined) this.#settle(unit, outcome);
    }
    return units.filter((unit) => !stored.has(unit.stream));
  }

  /** Again while the database does not answer, up to the bound. */
  #send<Row extends object>(connection: Connection, query: Query): Promise<{ rows: Row[] }> {
    return untilAnswered('append', this.options.retryMs, () => connection.query<Row>(query));
  }

  /** A batch that failed as a whole: who can be answered from what was stored is; the others go alone, so that one wrong group harms nobody else. */
  async #recover(connection: Connection, units: readonly PlannedUnit[], error: unknown): Promise<void> {
    const failure = failureOf(error);
    const entries = units.flatMap((unit) => unit.groups);
    if (error instanceof Problem || failure === 'refused') {
      const problem = error instanceof Problem ? error : unavailable('append', error);
      for (const entry of entries) entry.reject(problem);
      return;
    }
    if (failure === 'duplicate') {
      const left = await this.#answerStored(entries);
      // One that is stored in part belongs to no caller who keeps his ids.
      if (left.length < entries.length) return this.#again(connection, left);
    }
    if (entries.length > 1) return this.#again(connection, entries);
    for (const entry of entries) entry.reject(new Problem('internal', `append to ${entry.stream} failed`, { cause: error }));
  }

  async #again(connection: Connection, entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) await this.#commit(connection, [{ stream: entry.stream, groups: [entry] }]);
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
    for (const entry of unit.groups) {
      this.options.reader.refusal(entry.group, outcome).then(entry.resolve, entry.reject);
    }
  }

  #stored(unit: PlannedUnit, outcome: UnitOutcome): void {
    const { results, log } = storedGroups(unit.groups, outcome);
    const lead = unit.groups[0]?.group;
    if (lead !== undefined) this.options.log.add(logMessageOf(lead.stream, outcome.generation, log));
    for (const [at, result] of results.entries()) unit.groups[at]?.resolve(result);
  }
}
