import { performance } from 'node:perf_hooks';
import type { Servers } from './servers';

export interface Plan {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly sliceMs: number;
}
export const plan: Plan = { rounds: 9, warmUpMs: 300, sliceMs: 1_000 };

/** One slice of work; answers its figure in the bench's unit. */
export type Side = (ms: number) => Promise<number>;

export interface Bench {
  readonly id: string;
  readonly what: string;
  readonly unit: string;
  /** Whether `ours / theirs` must be at least (throughput) or at most (time) the goal. */
  readonly goal: { readonly ratio: number; readonly is: 'at least' | 'at most' };
  readonly sides: { readonly ours: string; readonly theirs: string; readonly control: string };
  /** Whoever gives the servers stops them. */
  run(plan: Plan, servers: () => Promise<Servers>): Promise<Figures>;
}

export interface Round {
  readonly ours: number;
  readonly theirs: number;
  readonly control: number;
}
export interface Figures {
  readonly rounds: readonly Round[];
  /** What was checked of the outcome, so that the figures are of work that was done. */
  readonly verified: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** All three sides in every round, in random order, so that a drift of the machine meets them alike. */
export async function measureRounds({ rounds, warmUpMs, sliceMs }: Plan, sides: Readonly<Record<keyof Round, Side>>): Promise<Round[]> {
  const names = ['ours', 'theirs', 'control'] as const;
  for (const name of names) await sides[name](warmUpMs);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    const order = [...names].map((name) => ({ name, at: Math.random() })).sort((a, b) => a.at - b.at);
    const figures: Partial<Record<keyof Round, number>> = {};
    for (const { name } of order) figures[name] = await sides[name](sliceMs);
    measured.push(figures as Round);
  }
  return measured;
}

/** Runs `once` again and again for `ms` and answers the median of its milliseconds. */
export async function medianTime(ms: number, once: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (const until = performance.now() + ms; performance.now() < until; ) {
    const started = performance.now();
    await once();
    times.push(performance.now() - started);
  }
  return quantile(times, 0.5);
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

export interface Verdict {
  readonly median: number;
  /** The ratio that all but a tenth of the rounds kept. */
  readonly worst: number;
  readonly met: boolean;
}

export function judge({ goal }: Pick<Bench, 'goal'>, rounds: readonly Round[]): Verdict {
  const ratios = rounds.map(({ ours, theirs }) => ours / theirs);
  const worst = quantile(ratios, goal.is === 'at least' ? 0.1 : 0.9);
  return { median: quantile(ratios, 0.5), worst, met: goal.is === 'at least' ? worst >= goal.ratio : worst <= goal.ratio };
}
