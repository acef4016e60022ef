// Changes the policy package in a sample of places and expects its unit tests to notice: `npm test` runs it last.
module.exports = {
  ...require('../../libs/tooling/jest-base.cjs'),
  testMatch: ['<rootDir>/tests/mutation/**/*.test.ts'],
  testTimeout: 14 * 60_000,
};
