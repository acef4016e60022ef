import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { binDir } from '../setup/layout.mjs';

// nats-server and bubblewrap of the clone: the copy has no tools folder.
const env = { ...process.env, PATH: `${binDir}${path.delimiter}${process.env.PATH ?? ''}` };
const limitMs = 5 * 60_000;
const children = new Set();
let ending = false;

/** In a process group of its own, so that a test run ends as a whole. Answers exit code and output. */
function run(copy, args) {
  if (ending) throw new Error('interrupted');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: copy, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    children.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    const timer = setTimeout(() => end(child), limitMs);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      children.delete(child);
      resolve({ code, output });
    });
  });
}

function end(child) {
  try {
    process.kill(-child.pid, 'SIGTERM');
  } catch {
    // It has ended meanwhile.
  }
}

/** Ends what runs; nothing is started any more. */
export async function endChildren() {
  ending = true;
  const closing = [...children].map((child) => new Promise((resolve) => child.once('close', resolve)));
  for (const child of children) end(child);
  await Promise.all(closing);
}

export async function runNode(copy, script) {
  const { code, output } = await run(copy, [path.join(copy, script)]);
  if (code !== 0) throw new Error(`${script} ended with ${code}:\n${output}`);
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Runs only the named tests of each file. Answers for each title how many tests that contain it passed and failed, and why the first did. */
export async function runNamedTests(copy, tests) {
  const outcomes = [];
  for (const { config = 'jest.config.cjs', file, red, twins } of tests) {
    const result = path.join(copy, 'mutate-result.json');
    fs.rmSync(result, { force: true });
    const names = [...red, ...twins].map(escaped).join('|');
    const jest = path.join(copy, 'node_modules/jest/bin/jest.js');
    await run(copy, [
      jest,
      '--config',
      config,
      '--runInBand',
      '--json',
      '--outputFile',
      result,
      '--testNamePattern',
      names,
      '--runTestsByPath',
      file,
    ]);
    const found = fs.existsSync(result)
      ? JSON.parse(fs.readFileSync(result, 'utf8')).testResults.flatMap((each) => each.assertionResults)
      : [];
    for (const [role, titles] of [
      ['red', red],
      ['twin', twins],
    ]) {
      for (const title of titles) {
        const named = found.filter(({ fullName }) => fullName.includes(title));
        const count = (status) => named.filter((each) => each.status === status).length;
        const message = named.flatMap((each) => each.failureMessages ?? [])[0]?.split('\n')[0];
        outcomes.push({ role, title, passed: count('passed'), failed: count('failed'), message });
      }
    }
  }
  return outcomes;
}
