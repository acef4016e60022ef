// Compiles every package's src/ to dist/ with swc, file by file, only what changed. Types are checked by `npm run check`.

import fs from 'node:fs';
import path from 'node:path';
import { transformFileSync } from '@swc/core';

const root = path.resolve(import.meta.dirname, '../../..');
const options = { ...JSON.parse(fs.readFileSync(path.join(root, 'libs/tooling/swc.json'), 'utf8')), swcrc: false };
const built = { files: 0, removed: 0 };

function* filesUnder(dir) {
  for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
    const file = path.join(dir, entry.name);
    if (entry.isDirectory()) yield* filesUnder(file);
    else yield file;
  }
}

const newest = (file) => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const optionsChangedAt = Math.max(newest(path.join(root, 'libs/tooling/swc.json')), newest(new URL(import.meta.url).pathname));

function buildPackage(dir) {
  const src = path.join(dir, 'src');
  const dist = path.join(dir, 'dist');
  const kept = new Set();
  for (const file of filesUnder(src)) {
    if (/\.test\.ts$/.test(file) || file.endsWith('.d.ts')) continue;
    const out = path.join(dist, path.relative(src, file).replace(/\.ts$/, '.js'));
    kept.add(out);
    if (newest(out) > Math.max(newest(file), optionsChangedAt)) continue;
    fs.mkdirSync(path.dirname(out), { recursive: true });
    if (file.endsWith('.ts')) fs.writeFileSync(out, transformFileSync(file, { ...options, filename: file }).code);
    else fs.copyFileSync(file, out);
    built.files++;
  }
  if (!fs.existsSync(dist)) return;
  for (const file of filesUnder(dist)) {
    // A runner image's bundle and manifest are made by its bundle.mjs.
    if (kept.has(file) || file.includes(`${path.sep}bundle${path.sep}`) || path.basename(file) === 'image.json') continue;
    fs.rmSync(file);
    built.removed++;
  }
}

for (const group of ['libs', 'services', 'images', 'deploy']) {
  for (const name of fs.readdirSync(path.join(root, group), { withFileTypes: true })) {
    const dir = path.join(root, group, name.name);
    if (name.isDirectory() && fs.existsSync(path.join(dir, 'src'))) buildPackage(dir);
  }
}
process.stderr.write(`built ${built.files} files, removed ${built.removed}\n`);
