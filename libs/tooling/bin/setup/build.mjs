// dist/ of every package and the runner bundles, only when a source changed: the check itself loads no compiler.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { readText, root, say } from './layout.mjs';
import { stream } from './run-command.mjs';

const stamp = path.join(root, '.cache/built');
const groups = ['libs', 'services', 'images', 'deploy'];

function* filesUnder(dir) {
  for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
    const file = path.join(dir, entry.name);
    if (entry.isDirectory()) yield* filesUnder(file);
    else yield file;
  }
}

const packages = () =>
  groups.flatMap((group) => {
    const dir = path.join(root, group);
    if (!fs.existsSync(dir)) return [];
    return fs.readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [path.join(dir, entry.name)] : []));
  });

const bundleScripts = () =>
  packages().flatMap((dir) => (fs.existsSync(path.join(dir, 'bundle.mjs')) ? [path.join(dir, 'bundle.mjs')] : []));

function fingerprint() {
  const hash = createHash('sha256').update(readText(path.join(root, 'pnpm-lock.yaml')) ?? '');
  const add = (file) => {
    const { mtimeMs, size } = fs.statSync(file);
    hash.update(`${file}\0${mtimeMs}\0${size}\n`);
  };
  for (const name of ['libs/tooling/bin/build.mjs', 'libs/tooling/swc.json']) add(path.join(root, name));
  for (const file of bundleScripts()) add(file);
  for (const dir of packages()) {
    const src = path.join(dir, 'src');
    if (!fs.existsSync(src)) continue;
    hash.update(`${dir} ${fs.existsSync(path.join(dir, 'dist'))}\n`);
    for (const file of filesUnder(src)) add(file);
  }
  return hash.digest('hex');
}

export function ensureBuilt({ force = false } = {}) {
  if (!force && readText(stamp) === fingerprint()) return;
  say('building');
  stream(process.execPath, [path.join(root, 'libs/tooling/bin/build.mjs')], { cwd: root });
  for (const script of bundleScripts()) stream(process.execPath, [script], { cwd: root });
  fs.mkdirSync(path.dirname(stamp), { recursive: true });
  fs.writeFileSync(stamp, fingerprint());
}
