// Starts a tool of node_modules/.bin and waits for it.

import { spawn } from 'node:child_process';
import path from 'node:path';
import { root } from '../setup/layout.mjs';

const binary = (name) => path.join(root, 'node_modules/.bin', name);

const endWithUs = new Set();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    for (const child of endWithUs) child.kill(signal);
    process.kill(process.pid, signal);
  });
}

/** Keeps the output: `{ok, output, seconds}`. */
export function runQuietly(name, args) {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(binary(name), args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    const done = (ok) => resolve({ ok, output: output.trim(), seconds: (performance.now() - started) / 1000 });
    child.on('error', (error) => {
      output += error.message;
      done(false);
    });
    child.on('close', (code) => done(code === 0));
  });
}

/** Shows the output on stderr. `finished()` tells that the work is done; a tool that then stays longer than `graceMs` is ended: `{code: 'stuck'}`. */
export function runVisibly(name, args, { finished, graceMs, limitMs }) {
  return new Promise((resolve) => {
    const child = spawn(binary(name), args, { cwd: root, stdio: ['ignore', 2, 2] });
    endWithUs.add(child);
    const started = Date.now();
    let finishedAt;
    let verdict;
    const watch = setInterval(() => {
      finishedAt ??= finished() ? Date.now() : undefined;
      if (finishedAt !== undefined && Date.now() - finishedAt > graceMs) verdict = 'stuck';
      if (Date.now() - started > limitMs) verdict = 'too slow';
      if (verdict !== undefined) child.kill('SIGKILL');
    }, 500);
    const done = (code) => {
      clearInterval(watch);
      endWithUs.delete(child);
      resolve({ code: verdict ?? code });
    };
    child.on('error', (error) => done(error.message));
    child.on('close', (code, signal) => done(code ?? signal));
  });
}
