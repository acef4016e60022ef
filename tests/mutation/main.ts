import { fork } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { findMutants, type Mutant } from './find-mutants';
import { type Judged, judgeMutants, packageFiles } from './judge-mutants';

/**
 * Takes the policy package apart and asks its unit tests to notice. `--all` takes every mutant, else a sample with a fixed seed. Two
 * processes share the work; one that dies or hangs over a mutant has noticed it, and goes on behind it.
 */
const root = path.resolve(__dirname, '../../libs/policy');
/** They start programs, and would be most of the time. */
const leftOut = ['shell/bash.test.ts'];
const sampleSize = 300;
const seed = 20261129;
const workers = 2;
const silenceMs = 60_000;
/** Before its first mutant a worker runs every test once. */
const startMs = 300_000;
const killRateMin = 0.9;
const noteEvery = 500;

function allMutants(): Mutant[] {
  return packageFiles(root, leftOut).sources.flatMap((file) => findMutants(file, fs.readFileSync(file, 'utf8')).mutants);
}

/** The same ones every time, from everywhere in the package. */
function sampled(mutants: readonly Mutant[], size: number): Mutant[] {
  let state = seed;
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return mutants
    .map((mutant) => ({ mutant, at: random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, size)
    .map(({ mutant }) => mutant);
}

async function work(mutants: readonly Mutant[]): Promise<void> {
  for await (const judged of judgeMutants(root, leftOut, mutants)) process.send?.(judged);
}

/** One worker over its share; when it ends early, the mutant in hand was noticed by that and the next one goes on behind it. */
function judgeShare(share: readonly Mutant[], onJudged: (judged: Judged) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let done = 0;
    const start = (): void => {
      if (done >= share.length) {
        resolve();
        return;
      }
      const child = fork(__filename, ['--worker'], { execArgv: process.execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
      let began = false;
      let watchdog = setTimeout(() => child.kill('SIGKILL'), startMs);
      child.send(share.slice(done));
      child.on('message', (judged) => {
        began = true;
        done++;
        onJudged(judged as Judged);
        clearTimeout(watchdog);
        watchdog = setTimeout(() => child.kill('SIGKILL'), silenceMs);
      });
      child.on('error', reject);
      child.on('exit', () => {
        clearTimeout(watchdog);
        const mutant = share[done];
        if (mutant === undefined) return resolve();
        if (!began && done === 0) return reject(new Error('a worker ended before it judged anything'));
        done++;
        onJudged({ mutant, killedBy: 'the process ended or hung', ms: silenceMs });
        start();
      });
    };
    start();
  });
}

async function main(): Promise<number> {
  const all = allMutants();
  const [flag] = process.argv.slice(2);
  const chosen = flag === '--all' ? all : sampled(all, Number(flag ?? sampleSize));
  const started = performance.now();
  const judged: Judged[] = [];
  const shares = Array.from({ length: workers }, (_, k) => chosen.filter((_mutant, i) => i % workers === k));
  const secondsSince = (): string => ((performance.now() - started) / 1000).toFixed(0);
  const note = (one: Judged): void => {
    judged.push(one);
    // All of them take half an hour or more.
    if (judged.length % noteEvery === 0)
      process.stderr.write(`fluidbox: ${judged.length} of ${chosen.length} mutants after ${secondsSince()} s\n`);
  };
  await Promise.all(shares.map((share) => judgeShare(share, note)));
  for (const { mutant, killedBy } of judged) if (killedBy === null) process.stdout.write(`survived ${describe(mutant)}\n`);
  const killed = judged.filter(({ killedBy }) => killedBy !== null).length;
  process.stdout.write(
    `${judged.length} mutants, ${killed} killed (${((killed / judged.length) * 100).toFixed(1)} % of a sample of ${all.length}, ${secondsSince()} s)\n`,
  );
  return killed / judged.length >= killRateMin ? 0 : 1;
}

function describe({ file, line, start, end, replacement }: Mutant): string {
  const was = fs.readFileSync(file, 'utf8').slice(start, end).replaceAll(/\s+/g, ' ');
  return `${path.relative(path.resolve(root, '../..'), file)}:${line} ${was.slice(0, 70)} → ${replacement.replaceAll(/\s+/g, ' ').slice(0, 70)}`;
}

if (process.argv[2] === '--worker') process.once('message', (mutants) => void work(mutants as Mutant[]).then(() => process.exit(0)));
else
  main().then(
    (code) => process.exit(code),
    (error: unknown) => {
      process.stderr.write(`fluidbox: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      process.exit(2);
    },
  );
