// Runs one step of the set-up. Its output goes to stderr as it comes, or is kept and shown only when the step fails.

import { spawnSync } from 'node:child_process';
import { SetupFailure } from './layout.mjs';

const describe = (command, args) => [command, ...args].join(' ');

export function stream(command, args, options = {}) {
  const result = spawnSync(command, args, { ...options, stdio: ['ignore', 2, 2] });
  if (result.status === 0) return;
  const why = result.error ? result.error.message : `exit ${result.status ?? result.signal}`;
  throw new SetupFailure(`${describe(command, args)} failed (${why}); its output is above`);
}

/** Returns `{ok, output}`; never throws, for steps that have an alternative. */
export function attempt(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}${result.error ? result.error.message : ''}`.trim();
  return { ok: result.status === 0, stdout: (result.stdout ?? '').trim(), output };
}
