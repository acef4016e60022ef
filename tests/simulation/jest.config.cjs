// Several services on one ledger, each stopped at the worst moment and started again. No process, no database: the order of things is the test's.
module.exports = { ...require('../../libs/tooling/jest-base.cjs'), testMatch: ['<rootDir>/tests/simulation/**/*.test.ts'] };
