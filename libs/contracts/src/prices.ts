import type { PriceTable } from './run-spec';

/**
 * List prices, micro-USD per million tokens, as public copies of the providers' price pages had them at `effective_from`. An operator may give another table; the one a
 * run used is frozen in its spec. Anthropic: a cache write kept for an hour costs twice the input, one of five minutes 1.25 times. OpenAI: cached input a
 * tenth, a cache write 1.25 times the input from GPT-6 on and nothing more than the input before, and another price for the whole request beyond 272,000 tokens.
 */
export const defaultPriceTable: PriceTable = {
  version: '2026-11.1',
  effective_from: '2026-11-29',
  models: {
    'claude-haiku-4-5': { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000, cache_write_1h: 2_000_000 },
    'claude-sonnet-4-5': { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000, cache_write_1h: 6_000_000 },
    'claude-sonnet-5': { input: 2_000_000, output: 10_000_000, cache_read: 200_000, cache_write: 2_500_000, cache_write_1h: 4_000_000 },
    'claude-opus-4-8': { input: 5_000_000, output: 25_000_000, cache_read: 500_000, cache_write: 6_250_000, cache_write_1h: 10_000_000 },
    'gpt-5.5': {
      input: 5_000_000,
      output: 30_000_000,
      cache_read: 500_000,
      cache_write: 5_000_000,
      long_input: { above_tokens: 272_000, input: 10_000_000, output: 45_000_000, cache_read: 1_000_000, cache_write: 10_000_000 },
    },
    'gpt-6-sol': {
      input: 2_000_000,
      output: 10_000_000,
      cache_read: 200_000,
      cache_write: 2_500_000,
      long_input: { above_tokens: 272_000, input: 4_000_000, output: 15_000_000, cache_read: 400_000, cache_write: 5_000_000 },
    },
    'gpt-6-luna': {
      input: 100_000,
      output: 500_000,
      cache_read: 10_000,
      cache_write: 125_000,
      long_input: { above_tokens: 272_000, input: 200_000, output: 750_000, cache_read: 20_000, cache_write: 250_000 },
    },
    none: { input: 0, output: 0, cache_read: 0, cache_write: 0 },
  },
};
