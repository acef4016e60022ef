// Every test, fast suites first. Prints each suite's result and, alone on the last line of stdout, `N passed, N failed`.
// Arguments name suites to run: `npm test -- unit architecture`.

import fs from 'node:fs';
import path from 'node:path';
import { root } from './setup/layout.mjs';
import { runVisibly } from './suite/run-tool.mjs';

const CORES = 2;
const GRACE_MS = 20_000;
const LIMIT_MS = 15 * 60_000;
const resultsDir = path.join(root, '.cache/test-results');

// A suite not named here is taken for slow. Slow suites start whole stacks, so their files are shared out over the cores instead of
// letting jest run as many at once as it likes.
const order = ['unit', 'architecture', 'conformance', 'simulation', 'browser', 'system'];
const fast = new Set(['unit', 'architecture', 'conformance']);

function suites() {
  const found = [{ name: 'unit', config: 'jest.config.cjs' }];
  const tests = path.join(root, 'tests');
  for (const name of fs.existsSync(tests) ? fs.readdirSync(tests) : []) {
    const config = path.join('tests', name, 'jest.config.cjs');
    if (fs.existsSync(path.join(root, config))) found.push({ name, config });
  }
  const rank = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length);
  return found.sort((a, b) => rank(a) - rank(b));
}

const readResult = (file) => {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
};

async function runJest(label, config, args) {
  const file = path.join(resultsDir, `${label}.json`);
  fs.rmSync(file, { force: true });
  const all = ['--config', config, '--json', '--outputFile', file, ...args];
  const { code } = await runVisibly('jest', all, { finished: () => readResult(file) !== undefined, graceMs: GRACE_MS, limitMs: LIMIT_MS });
  const result = readResult(file);
  const passed = result?.numPassedTests ?? 0;
  // A file that could not even be loaded, and a run that ended badly without naming a test, are failures too.
  const named = (result?.numFailedTests ?? 0) + (result?.numRuntimeErrorTestSuites ?? 0);
  const failed = code === 0 || named > 0 ? named : 1;
  return { passed, failed, skipped: result?.numPendingTests ?? 0, note: code === 0 || named > 0 ? '' : ` (jest: ${code})` };
}

const sum = (parts) => ({
  passed: parts.reduce((total, part) => total + part.passed, 0),
  failed: parts.reduce((total, part) => total + part.failed, 0),
  skipped: parts.reduce((total, part) => total + part.skipped, 0),
  note: parts.map((part) => part.note).join(''),
});

async function runSuite({ name, config }) {
  if (fast.has(name)) return runJest(name, config, [`--maxWorkers=${CORES}`]);
  const shards = Array.from({ length: CORES }, (_, at) =>
    runJest(`${name}-${at + 1}`, config, ['--runInBand', '--passWithNoTests', `--shard=${at + 1}/${CORES}`]),
  );
  return sum(await Promise.all(shards));
}

const wanted = process.argv.slice(2);
const known = suites();
const unknown = wanted.filter((name) => !known.some((suite) => suite.name === name));
if (unknown.length > 0) {
  process.stderr.write(`unknown suite ${unknown.join(', ')}; known: ${known.map(({ name }) => name).join(', ')}\n`);
  process.exit(2);
}
fs.mkdirSync(resultsDir, { recursive: true });
const totals = [];
for (const suite of known.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const started = performance.now();
  const result = await runSuite(suite);
  // A suite in which nothing ran has proved nothing.
  const counted = result.passed + result.failed === 0 ? { ...result, failed: 1, note: ' (no test ran)' } : result;
  totals.push(counted);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `${suite.name}: ${counted.passed} passed, ${counted.failed} failed, ${counted.skipped} skipped${counted.note} in ${seconds} s\n`,
  );
}
const total = sum(totals);
const closingLine = `${total.passed} passed, ${total.failed} failed`;
fs.writeFileSync(path.join(resultsDir, 'closing-line'), `${closingLine}\n`);
process.stdout.write(`${closingLine}\n`, () => process.exit(total.failed > 0 || total.passed === 0 ? 1 : 0));
