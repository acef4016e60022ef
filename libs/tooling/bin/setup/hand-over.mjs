// Becomes the real command as far as Node can: same stdin, stdout, stderr, signals handed on, and its exit code or signal is ours.

import { spawn } from 'node:child_process';
import os from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];

const LOOK_EVERY_MS = 500;

/** `kill` of npm ends its shell, which passes nothing on: the command would live for ever though whoever ended npm meant it. */
function whenOrphaned(end) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end();
  }, LOOK_EVERY_MS);
  timer.unref();
}

/** `cwd`: npm runs scripts in the clone; a file that a person names is meant from where that person stands. */
export function handOver(file, args, env, cwd = process.cwd()) {
  const child = spawn(process.execPath, [file, ...args], { stdio: 'inherit', env, cwd });
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  if (env.npm_lifecycle_event !== undefined) whenOrphaned(() => child.kill('SIGTERM'));
  child.on('error', (error) => {
    process.stderr.write(`fluidbox: cannot start ${file}: ${error.message}\n`);
    process.exit(127);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // Some signals are ignored by whoever started us; the shell's convention says the same thing.
    setTimeout(() => process.exit(128 + (os.constants.signals[signal] ?? 0)), 200);
  });
}
