// pnpm in exactly the version package.json names: another major refuses Node 20 or rewrites the lock.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { findOnPath, readJson, root, say, toolsDir } from './layout.mjs';
import { attempt, stream } from './run-command.mjs';

const pinned = readJson(path.join(root, 'package.json')).packageManager.replace(/^pnpm@/, '');
const prefix = path.join(toolsDir, 'pnpm');
const fetched = path.join(prefix, 'node_modules/pnpm');

const homeIsWritable = () => {
  try {
    fs.accessSync(os.homedir(), fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** Environment for npm and pnpm: caches move into the clone when the home folder is out of reach. */
export function packageEnvironment() {
  // `npm run -s` hands its silence down, and a failure would be silent too.
  const { npm_config_loglevel: _, ...inherited } = process.env;
  const env = { ...inherited, npm_config_update_notifier: 'false' };
  return homeIsWritable() ? env : { ...env, HOME: toolsDir, npm_config_cache: path.join(toolsDir, 'npm-cache') };
}

const fetchedVersion = () => {
  const manifest = path.join(fetched, 'package.json');
  return fs.existsSync(manifest) ? readJson(manifest).version : undefined;
};

/** `{command, args}` that starts the pinned pnpm, fetched first when needed. */
export function ensurePnpm() {
  const ours = { command: process.execPath, args: [path.join(fetched, 'bin/pnpm.cjs')] };
  if (fetchedVersion() === pinned) return ours;
  const onPath = findOnPath('pnpm');
  // Asked outside the clone: inside it pnpm would fetch the pinned version itself and report that one.
  if (onPath && attempt(onPath, ['--version'], { cwd: os.tmpdir() }).stdout === pinned) return { command: onPath, args: [] };
  say(`fetching pnpm ${pinned}`);
  fs.mkdirSync(prefix, { recursive: true });
  const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  stream('npm', ['install', '--prefix', prefix, ...options, `pnpm@${pinned}`], { cwd: prefix, env: packageEnvironment() });
  return ours;
}
