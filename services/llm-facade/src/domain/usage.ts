import type { ModelPrice } from '@fluidbox/contracts';

/** Tokens of one answer. The three input counts do not overlap. */
export interface Usage {
  readonly inputTokens: number;
  /** What was thought included. */
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** The part of the cache writes that is kept for an hour, where that is dearer. */
  readonly cacheWrite1hTokens: number;
  /** The part of the output that was thought, where the provider says so. */
  readonly reasoningTokens: number;
}
export const noUsage: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  reasoningTokens: 0,
};

const inputOf = (usage: Usage): number => usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
export const totalTokens = (usage: Usage): number => inputOf(usage) + usage.outputTokens;

const perMillion = 1_000_000n;

/** Micro-USD, rounded up: the ledger never says less than was spent. Exact integers; the product leaves the safe range of a double. */
export function costMicroUsd(price: ModelPrice, usage: Usage): number {
  // Beyond a size of input some models price the whole request dearer.
  const { long_input: long } = price;
  const rate = long !== undefined && inputOf(usage) > long.above_tokens ? long : price;
  const product =
    BigInt(usage.inputTokens) * BigInt(rate.input) +
    BigInt(usage.outputTokens) * BigInt(rate.output) +
    BigInt(usage.cacheReadTokens) * BigInt(rate.cache_read) +
    BigInt(usage.cacheWriteTokens - usage.cacheWrite1hTokens) * BigInt(rate.cache_write) +
    BigInt(usage.cacheWrite1hTokens) * BigInt(price.cache_write_1h ?? rate.cache_write);
  return Number((product + perMillion - 1n) / perMillion);
}
