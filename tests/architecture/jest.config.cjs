// Rules about the shape of the code, checked on the code itself.
module.exports = {
  ...require('../../libs/tooling/jest-base.cjs'),
  testMatch: ['<rootDir>/tests/architecture/**/*.test.ts'],
};
