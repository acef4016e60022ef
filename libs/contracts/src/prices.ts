import type { PriceTable } from './run-spec';

/** List prices, micro-USD per million tokens. An operator may give another table; the one a run used is frozen in its spec. */
export const defaultPriceTable: PriceTable = {
  version: '2026-11',
  effective_from: '2026-11-01',
  models: {
    'claude-haiku-4-5': { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 },
    'claude-sonnet-4-5': { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 },
    'claude-sonnet-5': { input: 2_000_000, output: 10_000_000, cache_read: 200_000, cache_write: 2_500_000 },
    'claude-opus-4-8': { input: 5_000_000, output: 25_000_000, cache_read: 500_000, cache_write: 6_250_000 },
    'gpt-5.5': { input: 5_000_000, output: 30_000_000, cache_read: 500_000, cache_write: 5_000_000 },
    'gpt-6-sol': { input: 2_000_000, output: 10_000_000, cache_read: 200_000, cache_write: 2_500_000 },
    'gpt-6-luna': { input: 100_000, output: 500_000, cache_read: 10_000, cache_write: 125_000 },
    none: { input: 0, output: 0, cache_read: 0, cache_write: 0 },
  },
};
