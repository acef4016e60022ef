import type { ModelPrice } from '@fluidbox/contracts';
import { costMicroUsd, noUsage } from './usage';

/** What a request may cost at most, before anybody knows. `costMicroUsd` is null when the model has no price and no cost budget binds. */
export interface Estimate {
  readonly tokens: number;
  readonly costMicroUsd: number | null;
  /** The part that the provider charges even when it never answers. */
  readonly inputTokens: number;
}

/** A request that names no maximum is taken for the largest common one. */
export const outputTokensDefault = 32_768;
export const outputTokensMax = 1_000_000;

/** Dense text has up to one token in three bytes. */
export const inputTokensOf = (bytes: number): number => Math.ceil(bytes / 3);

/** Room for one ordinary answer: input is estimated high, so what seems spent by it may well be there. */
export const outputTokensMin = 4_096;

/**
 * How much an admitted request may write. One that was admitted with less than its estimate gets what its reservation pays for, so that alone at the
 * end of a budget it overspends by no more than the smallest answer.
 */
export function outputWithin(
  { outputTokens, estimate, price }: { outputTokens: number; estimate: Estimate; price: ModelPrice | null },
  reserved: { readonly tokens: number; readonly costMicroUsd: number | null },
): number {
  const isWhole = reserved.tokens >= estimate.tokens && (reserved.costMicroUsd ?? 0) >= (estimate.costMicroUsd ?? 0);
  if (isWhole) return outputTokens;
  const byTokens = reserved.tokens - estimate.inputTokens;
  const costShort = (estimate.costMicroUsd ?? 0) - (reserved.costMicroUsd ?? 0);
  const byCost = price === null || price.output === 0 ? outputTokens : outputTokens - Math.ceil((costShort * 1_000_000) / price.output);
  return Math.min(outputTokens, Math.max(outputTokensMin, Math.min(byTokens, byCost)));
}

type Rates = Pick<ModelPrice, 'input' | 'output' | 'cache_read' | 'cache_write'>;

export function estimateOf(bodyBytes: number, outputTokens: number, price: ModelPrice | null, cachesForAnHour = false): Estimate {
  const inputTokens = inputTokensOf(bodyBytes);
  // Nobody knows which part of the input will be written to a cache, which may be dearer than plain input.
  const hour = cachesForAnHour ? (price?.cache_write_1h ?? 0) : 0;
  const dearest = <R extends Rates>(rates: R): R => ({ ...rates, input: Math.max(rates.input, rates.cache_write, hour) });
  const usage = { ...noUsage, inputTokens, outputTokens };
  const { long_input: long } = price ?? {};
  return {
    tokens: inputTokens + outputTokens,
    inputTokens,
    costMicroUsd:
      price === null ? null : costMicroUsd({ ...dearest(price), ...(long === undefined ? {} : { long_input: dearest(long) }) }, usage),
  };
}
