import type { StreamCategory } from '@fluidbox/contracts';
import type { ContentClass } from '@fluidbox/seal';
import { mergedAccounts } from '../domain/merged-accounts';
import type { EncodedEvent, EncodedGroup } from './encoded';

/** What one stream gets in a batch: one group, or facts that are fenced alike. */
export interface Unit {
  readonly stream: string;
  readonly groups: readonly EncodedGroup[];
}
export interface UnitOutcome {
  readonly status: string;
  readonly version: number;
  readonly generation: number;
  readonly positions: readonly number[];
}

const retentionDays = { projection: 90, rest: 30 } as const;
export const contentClasses = ['projection', 'rest'] as const;
const rawDigest = (digest: string): Buffer => Buffer.from(digest.slice('sha256:'.length), 'hex');

export interface Query {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

/** The sealed contents of some events of one stream; `event` counts from 0. */
export function contentRows(
  category: StreamCategory,
  events: readonly EncodedEvent[],
): { event: number; keyClass: ContentClass; days: number | null; sealed: Buffer }[] {
  const rows: ReturnType<typeof contentRows> = [];
  for (const [event, { prepared }] of events.entries()) {
    for (const keyClass of contentClasses) {
      const sealed = prepared.content[keyClass];
      // An agent's system prompt lives as long as the agent.
      if (sealed !== undefined) rows.push({ event, keyClass, days: category === 'run' ? retentionDays[keyClass] : null, sealed });
    }
  }
  return rows;
}

/** Values that travel as one block of bytes with offsets. */
export class Block {
  readonly starts: number[] = [];
  readonly lengths: number[] = [];
  readonly #parts: Buffer[] = [];
  #end = 0;
  /** Where it starts, and its length. */
  add(bytes: Buffer): [number, number] {
    const start = this.#end;
    this.starts.push(start);
    this.lengths.push(bytes.length);
    this.#parts.push(bytes);
    this.#end += bytes.length;
    return [start, bytes.length];
  }
  bytes(): Buffer {
    return Buffer.concat(this.#parts, this.#end);
  }
}

// Named: parsed and planned once per connection.
const appendStatement = {
  name: 'ledger-append-batch',
  text: `select * from ledger.append_batch(${Array.from({ length: 38 }, (_, i) => `$${i + 1}`).join(', ')})`,
};

/** Units must come in byte order of their streams: that is the order in which every appender locks. */
export function appendQuery(units: readonly Unit[], mayCreate: boolean): Query {
  const unit = {
    streams: [] as string[],
    orgs: [] as string[],
    categories: [] as string[],
    expected: [] as (number | null)[],
    generations: [] as (number | null)[],
    setGenerations: [] as (number | null)[],
    closes: [] as boolean[],
    firsts: [] as number[],
    counts: [] as number[],
  };
  const event = {
    units: [] as number[],
    ids: [] as string[],
    types: [] as string[],
    versions: [] as number[],
    occurred: [] as string[],
    actors: [] as string[],
  };
  const bodies = new Block();
  const digests = new Block();
  const content = { events: [] as number[], classes: [] as string[], days: [] as (number | null)[] };
  const contents = new Block();
  const keys = {
    units: [] as number[],
    projections: [] as (Buffer | null)[],
    rests: [] as (Buffer | null)[],
    salts: [] as (Buffer | null)[],
  };
  const documents = { units: [] as number[], digests: [] as Buffer[], bytes: [] as Buffer[] };
  const accounts = {
    units: [] as number[],
    scopes: [] as string[],
    periods: [] as string[],
    reserves: [] as number[],
    settles: [] as number[],
  };

  units.forEach(({ stream, groups }, index) => {
    const ord = index + 1;
    const lead = groups[0]?.group;
    if (lead === undefined) return;
    unit.streams.push(stream);
    unit.orgs.push(lead.stream.org);
    unit.categories.push(lead.stream.category);
    unit.expected.push(lead.expected === 'any' ? null : lead.expected);
    unit.generations.push(lead.generation ?? null);
    unit.setGenerations.push(lead.setGeneration ?? null);
    unit.closes.push(lead.closes === true);
    unit.firsts.push(event.ids.length);
    unit.counts.push(groups.reduce((sum, group) => sum + group.events.length, 0));
    for (const { group, events } of groups) {
      for (const row of contentRows(group.stream.category, events)) {
        content.events.push(event.ids.length + row.event);
        content.classes.push(row.keyClass);
        content.days.push(row.days);
        contents.add(row.sealed);
      }
      for (const { prepared, body, bytes, digest } of events) {
        event.units.push(ord);
        event.ids.push(prepared.eventId);
        event.types.push(body.type);
        event.versions.push(body.version);
        event.occurred.push(body.occurred_at);
        event.actors.push(body.actor);
        bodies.add(bytes);
        digests.add(digest);
      }
      for (const document of group.documents ?? []) {
        documents.units.push(ord);
        documents.digests.push(rawDigest(document.digest));
        documents.bytes.push(document.bytes);
      }
      for (const change of mergedAccounts(group.accounts ?? [])) {
        accounts.units.push(ord);
        accounts.scopes.push(change.scope);
        accounts.periods.push(change.period);
        accounts.reserves.push(change.reserve);
        accounts.settles.push(change.settle);
      }
      if (group.keys !== undefined) {
        keys.units.push(ord);
        keys.projections.push(group.keys.projection);
        keys.rests.push(group.keys.rest);
        keys.salts.push(group.keys.salt);
      }
    }
  });
  return {
    ...appendStatement,
    values: [
      mayCreate,
      ...Object.values(unit),
      ...Object.values(event),
      bodies.starts,
      bodies.lengths,
      bodies.bytes(),
      digests.bytes(),
      ...Object.values(content),
      contents.starts,
      contents.lengths,
      contents.bytes(),
      ...Object.values(keys),
      ...Object.values(documents),
      ...Object.values(accounts),
    ],
  };
}

export interface UnitRow {
  readonly unit: number;
  readonly status: string;
  readonly version: string;
  readonly generation: number;
  readonly positions: readonly string[] | null;
}

/** The answer to the statement, by unit. */
export function outcomesOf(rows: readonly UnitRow[], units: readonly Unit[]): UnitOutcome[] {
  const positions = (rows.find((row) => row.unit === 0)?.positions ?? []).map(Number);
  let at = 0;
  return rows
    .filter((row) => row.unit > 0)
    .sort((a, b) => a.unit - b.unit)
    .map((row) => {
      const count = row.status === 'ok' ? eventCount(units[row.unit - 1]) : 0;
      at += count;
      return { status: row.status, version: Number(row.version), generation: row.generation, positions: positions.slice(at - count, at) };
    });
}
const eventCount = (unit: Unit | undefined): number => (unit?.groups ?? []).reduce((sum, group) => sum + group.events.length, 0);

/** Byte order of ASCII names, the same as the database's collation "C". */
export const inStreamOrder = (a: { readonly stream: string }, b: { readonly stream: string }): number =>
  a.stream < b.stream ? -1 : a.stream > b.stream ? 1 : 0;
