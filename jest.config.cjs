module.exports = { ...require('./libs/tooling/jest-base.cjs'), testMatch: ['<rootDir>/{libs,services,images,deploy}/**/src/**/*.test.ts'] };
