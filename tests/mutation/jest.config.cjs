// Changes the policy package in a sample of places and expects its unit tests to notice: `npm test` runs it last. A run of all takes about half an hour of
// two free cores; the limits end what hangs.
module.exports = {
  ...require('../../libs/tooling/jest-base.cjs'),
  testMatch: ['<rootDir>/tests/mutation/**/*.test.ts'],
  testTimeout: (process.env.FLUIDBOX_MUTANTS === 'all' ? 180 : 14) * 60_000,
};
