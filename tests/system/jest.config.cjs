// Real processes, real Postgres, NATS, bubblewrap and harness programs. Each file starts the stack it needs and stops it again.
module.exports = {
  ...require('../../libs/tooling/jest-base.cjs'),
  testMatch: ['<rootDir>/tests/system/**/*.test.ts'],
};
