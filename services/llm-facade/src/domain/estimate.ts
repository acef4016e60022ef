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

export function estimateOf(bodyBytes: number, outputTokens: number, price: ModelPrice | null): Estimate {
  const inputTokens = inputTokensOf(bodyBytes);
  // Nobody knows which part of the input will be written to a cache, which may be dearer than plain input.
  const dearestInput = price === null ? null : { ...price, input: Math.max(price.input, price.cache_write) };
  return {
    tokens: inputTokens + outputTokens,
    inputTokens,
    costMicroUsd: dearestInput === null ? null : costMicroUsd(dearestInput, { ...noUsage, inputTokens, outputTokens }),
  };
}
