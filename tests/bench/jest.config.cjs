// Correctness of the benches at toy size: what they measure must have been done. Figures are never judged here.
module.exports = {
  ...require('../../libs/tooling/jest-base.cjs'),
  testMatch: ['<rootDir>/tests/bench/**/*.test.ts'],
};
