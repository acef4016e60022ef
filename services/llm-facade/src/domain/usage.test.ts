import { defaultPriceTable } from '@fluidbox/contracts';
import { estimateOf } from './estimate';
import { costMicroUsd, noUsage } from './usage';

const rates = { input: 5_000_000, output: 30_000_000, cache_read: 500_000, cache_write: 5_000_000 };
const long = { above_tokens: 1_000, input: 10_000_000, output: 45_000_000, cache_read: 1_000_000, cache_write: 10_000_000 };

describe('the price of an answer', () => {
  it('is another one for the whole request when its input is large, cached parts included', () => {
    const price = { ...rates, long_input: long };
    const usage = { ...noUsage, inputTokens: 400, cacheReadTokens: 500, cacheWriteTokens: 100, outputTokens: 10 };
    expect(costMicroUsd(price, usage)).toBe(2_000 + 250 + 500 + 300);
    expect(costMicroUsd(price, { ...usage, inputTokens: 401 })).toBe(4_010 + 500 + 1_000 + 450);
    expect(costMicroUsd(rates, { ...usage, inputTokens: 401 })).toBe(2_005 + 250 + 500 + 300);
  });

  it('counts what was thought once: it is part of the output', () => {
    expect(costMicroUsd(rates, { ...noUsage, outputTokens: 10, reasoningTokens: 8 })).toBe(300);
  });

  it('is reserved at the dearest that it may come to', () => {
    const price = { ...rates, cache_write_1h: 12_000_000, long_input: long };
    expect(estimateOf(300, 0, price).costMicroUsd).toBe(500);
    expect(estimateOf(300, 0, price, true).costMicroUsd).toBe(1_200);
    expect(estimateOf(6_000, 0, price).costMicroUsd).toBe(20_000);
  });
});

describe('the list prices', () => {
  it.each(Object.entries(defaultPriceTable.models))(
    'of %s: reading a cache is no dearer than the input, keeping one for longer no cheaper',
    (_model, price) => {
      expect(price.cache_read).toBeLessThanOrEqual(price.input);
      expect(price.cache_write).toBeGreaterThanOrEqual(price.input);
      expect(price.cache_write_1h ?? price.cache_write).toBeGreaterThanOrEqual(price.cache_write);
      expect(price.long_input?.input ?? price.input).toBeGreaterThanOrEqual(price.input);
    },
  );
});
