// One jest configuration for every package. Nest 12 and several dependencies are ES modules, so everything is transformed;
// the `source` condition makes a test read the TypeScript of the other packages, never a stale build.
const fs = require('node:fs');
const path = require('node:path');

const swc = JSON.parse(fs.readFileSync(path.join(__dirname, 'swc.json'), 'utf8'));
const root = path.resolve(__dirname, '../..');

module.exports = {
  rootDir: root,
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['source', 'require', 'node', 'default'] },
  transform: { '^.+\\.(t|j|mj|cj)s$': ['@swc/jest', { ...swc, swcrc: false }] },
  transformIgnorePatterns: [],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1', '^fast-check$': path.join(__dirname, 'seeded-fast-check.cjs') },
  modulePathIgnorePatterns: ['/dist/', '/.fluidbox/', '/.cache/', '/tests/architecture/fixtures/'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/', '/.fluidbox/'],
  cacheDirectory: path.join(root, '.cache/jest'),
  // Ends what hangs, nothing else: how long a test takes is the machine's, and it may be busy.
  testTimeout: 240_000,
};
