import { performance } from 'node:perf_hooks';
import type { Servers } from './servers';

export interface Plan {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly sliceMs: number;
  /** How much there is of what a bench counts (runs, events …); each bench has its own usual size. */
  readonly runs?: number;
  /** `toy` shows only that the bench works, in seconds. */
  readonly size: 'toy' | 'usual' | 'full';
}
/** Both sides are compared as they run for hours: with 300 ms of warm-up the first round met code that was not compiled yet. Ten rounds, so that nine are nine in ten. */
export const plan: Plan = { rounds: 10, warmUpMs: 2_000, sliceMs: 1_000, size: 'usual' };

/** One slice of work; answers its figure, or several by their names (events per second and the time that 99 in 100 took). */
export type Side = (ms: number) => Promise<number | Round>;

/** The figures of one round by name. */
export type Round = Readonly<Record<string, number>>;

/** A goal: in nine rounds of ten the ratio of two figures keeps to it. */
export interface Check {
  readonly name: string;
  readonly op: '>=' | '<=';
  readonly goal: number;
  readonly stretch?: number;
  /** The name of a figure. */
  readonly ours: string;
  /** The name of the figure to compare with, or a fixed one where the goal is absolute. */
  readonly peer: string | number;
}

export interface Bench {
  readonly id: string;
  readonly what: string;
  /** Of the figures that do not name another one. */
  readonly unit: string;
  /** What each figure of a round is: both sides and a control. */
  readonly sides: Readonly<Record<string, string>>;
  readonly checks: readonly Check[];
  /** Whoever gives the servers stops them. */
  run(plan: Plan, servers: () => Promise<Servers>): Promise<Figures>;
}

export interface Figures {
  readonly rounds: readonly Round[];
  /** What was checked of the outcome, so that the figures are of work that was done. */
  readonly verified: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** All sides in every round, in random order, so that a drift of the machine meets them alike. */
export async function measureRounds({ rounds, warmUpMs, sliceMs }: Plan, sides: Readonly<Record<string, Side>>): Promise<Round[]> {
  for (const side of Object.values(sides)) await side(warmUpMs);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    const order = Object.entries(sides)
      .map((side) => ({ side, at: Math.random() }))
      .sort((a, b) => a.at - b.at);
    const figures: Record<string, number> = {};
    for (const { side } of order) {
      const [name, work] = side;
      const figure = await work(sliceMs);
      Object.assign(figures, typeof figure === 'number' ? { [name]: figure } : figure);
    }
    measured.push(figures);
  }
  return measured;
}

/** Runs `once` again and again for `ms`, at least once, and answers the median of its milliseconds. */
export async function medianTime(ms: number, once: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  const until = performance.now() + ms;
  do {
    const started = performance.now();
    await once();
    times.push(performance.now() - started);
  } while (performance.now() < until);
  return quantile(times, 0.5);
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/** A check with what the rounds gave: the machine-readable form of the outcome. */
export interface Judged {
  readonly name: string;
  readonly op: Check['op'];
  readonly goal: number;
  readonly stretch: number | null;
  /** The ratio of each round. */
  readonly rounds: readonly number[];
  /** Medians of the two figures. */
  readonly ours: number;
  readonly peer: number;
  readonly median: number;
  /** The ratio that all but a tenth of the rounds kept. */
  readonly kept: number;
  readonly pass: boolean;
}

export function judge(check: Check, rounds: readonly Round[]): Judged {
  const figure = (name: string) => (round: Round) => {
    const found = round[name];
    if (found === undefined) throw new Error(`check ${check.name} looks at ${name}, which was not measured`);
    return found;
  };
  const ours = rounds.map(figure(check.ours));
  const { peer } = check;
  const peers = typeof peer === 'number' ? rounds.map(() => peer) : rounds.map(figure(peer));
  const ratios = ours.map((each, index) => each / (peers[index] ?? Number.NaN));
  const kept = quantile(ratios, check.op === '>=' ? 0.1 : 0.9);
  return {
    name: check.name,
    op: check.op,
    goal: check.goal,
    stretch: check.stretch ?? null,
    rounds: ratios,
    ours: quantile(ours, 0.5),
    peer: quantile(peers, 0.5),
    median: quantile(ratios, 0.5),
    kept,
    pass: check.op === '>=' ? kept >= check.goal : kept <= check.goal,
  };
}
