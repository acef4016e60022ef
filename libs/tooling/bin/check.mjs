// Everything that is wrong without running it: format and lint, types, purity of the domain, imports, what nobody uses.

import fs from 'node:fs';
import path from 'node:path';
import { root } from './setup/layout.mjs';
import { runQuietly } from './suite/run-tool.mjs';

const exists = (name) => fs.existsSync(path.join(root, name));
const groups = ['services', 'libs', 'images', 'deploy', 'tests'].filter(exists);

const steps = [
  { name: 'types', tool: 'tsc', args: ['-p', 'tsconfig.json', '--noEmit'] },
  { name: 'lint and format', tool: 'biome', args: ['check', '.'] },
  { name: 'domain is pure', tool: 'tsc', args: ['-p', 'tsconfig.domain.json', '--noEmit'] },
  { name: 'imports', tool: 'depcruise', args: ['--config', '.dependency-cruiser.cjs', ...groups], needs: ['.dependency-cruiser.cjs'] },
  { name: 'nothing unused', tool: 'knip', args: ['--no-progress'], needs: ['knip.json', 'knip.jsonc'] },
].filter(({ needs }) => needs === undefined || needs.some(exists));

const CORES = 2;
const results = [];

async function work(queue) {
  for (let step = queue.shift(); step !== undefined; step = queue.shift()) {
    const { ok, output, seconds } = await runQuietly(step.tool, step.args);
    results.push(ok);
    process.stdout.write(`${ok ? 'ok  ' : 'FAIL'} ${step.name} (${seconds.toFixed(1)} s)\n`);
    if (!ok) process.stdout.write(`${output}\n\n`);
  }
}

const queue = [...steps];
await Promise.all(Array.from({ length: CORES }, () => work(queue)));
const failed = results.filter((ok) => !ok).length;
process.stdout.write(`check: ${results.length - failed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);
