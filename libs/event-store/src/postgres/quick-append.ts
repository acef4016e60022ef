import pg from 'pg';
import type { Query, Unit, UnitOutcome } from './batch';
import { fewEachQuery } from './few-each';
import { refused, singleAppendQuery } from './single';

/** One event that was stored. */
export interface QuickRow {
  readonly stream: string;
  readonly seq: string;
  readonly generation: number;
  readonly global_position: string;
}
/** By stream; a unit of which nothing was stored is not in it, and why is the batch statement's to say. */
type Stored = ReadonlyMap<string, UnitOutcome>;

interface QuickAppend {
  readonly query: Query;
  stored(rows: readonly QuickRow[]): Stored;
  unlessRefused(error: unknown): Stored;
}

/** The statement that costs least, for units whose streams have heads. Null: only the batch statement takes them. */
export function quickAppend(units: readonly Unit[]): QuickAppend | null {
  const [only, second] = units;
  if (only === undefined) return null;
  const query = second === undefined ? singleAppendQuery(only) : fewEachQuery(units);
  return query === null ? null : { query, stored, unlessRefused };
}

function stored(rows: readonly QuickRow[]): Stored {
  const byStream = new Map<string, UnitOutcome>();
  for (const row of rows) {
    const [version, position] = [Number(row.seq) - 1, Number(row.global_position)];
    const { stream, generation } = row;
    const before = byStream.get(stream);
    // Positions rise with the places in the stream.
    byStream.set(
      stream,
      before === undefined
        ? { status: 'ok', version, generation, positions: [position] }
        : { ...before, version: Math.min(before.version, version), positions: [...before.positions, position].sort((a, b) => a - b) },
    );
  }
  return byStream;
}

function unlessRefused(error: unknown): Stored {
  if (error instanceof pg.DatabaseError && error.code === refused) return new Map();
  throw error;
}
