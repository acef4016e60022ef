import type { ModelPrice } from '@fluidbox/contracts';

/** Tokens of one answer. The three input counts do not overlap. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}
export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

export const totalTokens = (usage: Usage): number =>
  usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;

const perMillion = 1_000_000n;

/** Micro-USD, rounded up: the ledger never says less than was spent. Exact integers; the product leaves the safe range of a double. */
export function costMicroUsd(price: ModelPrice, usage: Usage): number {
  const product =
    BigInt(usage.inputTokens) * BigInt(price.input) +
    BigInt(usage.outputTokens) * BigInt(price.output) +
    BigInt(usage.cacheReadTokens) * BigInt(price.cache_read) +
    BigInt(usage.cacheWriteTokens) * BigInt(price.cache_write);
  return Number((product + perMillion - 1n) / perMillion);
}
