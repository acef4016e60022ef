import type { Servers } from '../support/servers';

export interface Point {
  readonly size: number;
  /** Milliseconds, reads, bytes: one unit for all sizes. */
  readonly cost: number;
}

/** How one cost grows with one size. Each row is a file of its own, listed in `rows.ts`. */
export interface GrowthRow {
  /** A word, the name of the figure. */
  readonly name: string;
  /** What costs, in what unit, and what grows. */
  readonly what: string;
  /** The largest exponent of cost over size that keeps the law: see `flat` and `linear`. */
  readonly exponentMax: number;
  /** The costs at growing sizes. `toy`: seconds in all, `usual`: a minute, `full`: as large as the promise. */
  measure(servers: Servers, size: 'toy' | 'usual' | 'full'): Promise<readonly Point[]>;
}

/** At most twice the cost at a thousand times the size: what an index of one more level and a cold cache may take. */
export const flat = 0.1;
/** Ten times the size may cost thirteen times as much. */
export const linear = 1.1;
