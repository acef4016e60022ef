// `npm run mutate -- NAME`: takes a guard away and expects the named tests to notice. Green before, red without the guard, and the twins
// (what must go on working) green all the time; exit 0 only when every mutant was killed. It works on a copy of the clone: yours is never
// changed, so that there is nothing to put back, however this ends.

import fs from 'node:fs';
import path from 'node:path';
import { copyClone, removeAbandonedCopies } from './mutate/copy.mjs';
import { mutations } from './mutate/mutations.mjs';
import { endChildren, runNamedTests, runNode } from './mutate/run-tests.mjs';

const print = (text) => process.stdout.write(`${text}\n`);
const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(0)} s`;

/** Every place must be found exactly once, or the mutant is not the one that its name promises. */
function patch(copy, { file, find, replace }) {
  const target = path.join(copy, file);
  const text = fs.readFileSync(target, 'utf8');
  const found = text.split(find).length - 1;
  if (found !== 1) throw new Error(`${file}: expected once, found ${found} times: ${find}`);
  fs.writeFileSync(
    target,
    text.replace(find, () => replace),
  );
  return () => fs.writeFileSync(target, text);
}

async function judge(copy, tests, wanted) {
  const outcomes = await runNamedTests(copy, tests);
  const reasons = [];
  for (const { role, title, passed, failed, message } of outcomes) {
    const expected = role === 'twin' ? 'green' : wanted;
    if (passed + failed === 0) reasons.push(`did not run: ${title}`);
    else if (expected === 'green' && failed > 0) reasons.push(`is red: ${title} (${message})`);
    else if (expected === 'red' && failed === 0) reasons.push(`stays green: ${title}`);
  }
  return reasons;
}

async function judgeMutant(copy, { what, patches, prepare = [], tests }) {
  print(`  mutant: ${what}`);
  const started = performance.now();
  const restore = patches.map((each) => patch(copy, each));
  try {
    for (const script of prepare) await runNode(copy, script);
    const reasons = await judge(copy, tests, 'red');
    for (const { file, red } of tests) for (const title of red) print(`    expects red: ${file} › ${title}`);
    print(reasons.length === 0 ? `    killed (${seconds(started)})` : `    SURVIVED (${seconds(started)}): ${reasons.join('; ')}`);
    return reasons.length === 0;
  } finally {
    for (const each of restore) each();
  }
}

/** The tests of all mutants together, once, before anything is taken away. */
function allTests(mutants) {
  const files = new Map();
  for (const { tests } of mutants) {
    for (const { config, file, red, twins } of tests) {
      const known = files.get(file) ?? { config, file, red: [], twins: [] };
      files.set(file, { ...known, red: [...new Set([...known.red, ...red])], twins: [...new Set([...known.twins, ...twins])] });
    }
  }
  return [...files.values()];
}

async function mutate(copy, name) {
  const { promise, mutants } = mutations[name];
  print(`${name}: ${promise}`);
  const started = performance.now();
  const before = await judge(copy, allTests(mutants), 'green');
  if (before.length > 0) {
    print(`  cannot be judged, with the guard in place: ${before.join('; ')}`);
    return false;
  }
  print(`  with the guard: all named tests are green (${seconds(started)})`);
  let killed = true;
  for (const mutant of mutants) {
    killed = (await judgeMutant(copy, mutant)) && killed;
    // What a mutant's preparation built is in the copy; the next one starts from the true sources.
    for (const script of mutant.prepare ?? []) await runNode(copy, script);
  }
  return killed;
}

const [wanted = '', ...more] = process.argv.slice(2);
const names = wanted === 'all' ? Object.keys(mutations) : [wanted];
if (more.length > 0 || !names.every((name) => Object.hasOwn(mutations, name))) {
  process.stderr.write(`usage: npm run mutate -- NAME; known: all, ${Object.keys(mutations).join(', ')}\n`);
  process.exit(2);
}
removeAbandonedCopies();
const copy = copyClone();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    void endChildren().finally(() => {
      copy.remove();
      process.exit(130);
    });
  });
}
let survived = 0;
try {
  for (const name of names) if (!(await mutate(copy.dir, name))) survived++;
} catch (error) {
  survived++;
  process.stderr.write(`fluidbox: ${error.message}\n`);
} finally {
  copy.remove();
}
print(survived === 0 ? `mutate: ${names.length} of ${names.length} killed` : `mutate: ${survived} of ${names.length} NOT killed`);
process.exitCode = survived === 0 ? 0 : 1;
