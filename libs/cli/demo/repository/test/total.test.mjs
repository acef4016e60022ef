import assert from 'node:assert/strict';
import { test } from 'node:test';
import { total } from '../src/total.mjs';

test('adds up whole amounts', () => {
  assert.equal(
    total([
      { quantity: 2, price: 10 },
      { quantity: 1, price: 5.5 },
    ]),
    25.5,
  );
});

test('rounds every line to cents before adding', () => {
  // Three lines of 0.333 are printed as 0.33 each.
  const line = { quantity: 1, price: 0.333 };
  assert.equal(total([line, line, line]), 0.99);
});
