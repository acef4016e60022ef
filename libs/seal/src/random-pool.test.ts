import { RandomPool } from './random-pool';

test('every value has its size, none comes twice, and none changes when the next ones are drawn', () => {
  const pool = new RandomPool(12);
  const drawn = Array.from({ length: 1_000 }, () => {
    const value = pool.next();
    return { value, text: value.toString('hex') };
  });
  expect(new Set(drawn.map(({ text }) => text)).size).toBe(1_000);
  for (const { value, text } of drawn) expect(value.toString('hex')).toBe(text);
  expect(drawn.every(({ value }) => value.length === 12)).toBe(true);
});
