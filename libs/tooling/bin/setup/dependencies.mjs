// node_modules as the lock says. Skipped when nothing that decides its content has changed since it was made.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { readText, root, say, toolsDir } from './layout.mjs';
import { ensurePnpm, packageEnvironment } from './pnpm.mjs';
import { stream } from './run-command.mjs';

// Inside node_modules, so that removing the folder removes the claim that it is complete.
const stamp = path.join(root, 'node_modules/.fluidbox-installed');
const inputs = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', '.npmrc'];

const wanted = () => {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${process.versions.modules}`);
  for (const name of inputs) hash.update(`\0${name}\0${readText(path.join(root, name)) ?? ''}`);
  return hash.digest('hex');
};

// pnpm refuses to go on with another store than the one node_modules was linked from.
function storeArguments(env) {
  const previous = /"?storeDir"?:\s*"?([^",\n]+)"?/.exec(readText(path.join(root, 'node_modules/.modules.yaml')) ?? '')?.[1];
  if (previous) return ['--store-dir', previous.replace(/\/v\d+$/, '')];
  return env.HOME === toolsDir ? ['--store-dir', path.join(toolsDir, 'pnpm-store')] : [];
}

export function ensureDependencies() {
  const want = wanted();
  if (readText(stamp) === want) return;
  const pnpm = ensurePnpm();
  say('installing the packages of pnpm-lock.yaml');
  const env = packageEnvironment();
  const options = ['--frozen-lockfile', '--prefer-offline', '--config.confirmModulesPurge=false', '--reporter=append-only'];
  stream(pnpm.command, [...pnpm.args, 'install', ...options, ...storeArguments(env)], { cwd: root, env });
  fs.writeFileSync(stamp, want);
}
