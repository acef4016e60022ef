// Runs TypeScript of this workspace without a build, for child processes of tests:
//   node --conditions=source --require libs/tooling/process/register.cjs script.ts
const fs = require('node:fs');
const path = require('node:path');
const { transformSync } = require('@swc/core');

const options = { ...JSON.parse(fs.readFileSync(path.join(__dirname, '../swc.json'), 'utf8')), swcrc: false };

require.extensions['.ts'] = (module, file) => {
  module._compile(transformSync(fs.readFileSync(file, 'utf8'), { ...options, filename: file }).code, file);
};
