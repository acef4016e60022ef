// Builds the image of a runner: dist/bundle/ with one CommonJS file that needs no node_modules, the filter and the shell wrapper
// beside it, and dist/image.json, which tells the scheduler what to bind (libs/sandbox-kit).
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;

/** Evaluates one TypeScript module of ours at build time, so that bundling needs no earlier build. */
async function load(specifier) {
  const { outputFiles } = await build({
    stdin: { contents: `export * from '${specifier}'`, resolveDir: here },
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['source'],
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

async function sha256(file) {
  const hash = createHash('sha256');
  for await (const chunk of fs.createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}

/** Names and contents in name order, each with its length, so that no two folders share a digest. */
function digestOf(dir) {
  const hash = createHash('sha256');
  for (const name of fs.readdirSync(dir).sort()) {
    const bytes = fs.readFileSync(path.join(dir, name));
    hash.update(`${name.length}:${name}${bytes.length}:`).update(bytes);
  }
  return `sha256:${hash.digest('hex')}`;
}

/**
 * @param {object} options
 * @param {string} options.packageDir folder of the image's package.json; src/main.ts is its entry
 * @param {{ src: string, dest: string }[]} [options.agentPrograms] binaries that are bound, not bundled; their hashes go into the
 *   bundle, so that the runner's digest covers them
 * @param {(contracts: typeof import('@fluidbox/contracts')) => Record<string, string>} [options.files] more files of the bundle, by name
 * @param {string} [options.dist] where to write
 * @param {import('esbuild').Plugin[]} [options.plugins]
 */
export async function bundleRunner({ packageDir, agentPrograms = [], files, dist = path.join(packageDir, 'dist'), plugins = [] }) {
  const next = path.join(dist, `bundle.${process.pid}`);
  fs.mkdirSync(next, { recursive: true });
  await build({
    entryPoints: [path.join(packageDir, 'src', 'main.ts')],
    outfile: path.join(next, 'main.js'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20.19',
    conditions: ['source'],
    legalComments: 'none',
    // Dependencies that are ES modules ask where they are.
    define: { 'import.meta.url': '__bundleUrl' },
    banner: { js: 'const __bundleUrl = require("node:url").pathToFileURL(__filename).href;' },
    logLevel: 'warning',
    plugins,
  });
  const { ImageManifest, seccompFilter } = await load('@fluidbox/sandbox-kit');
  fs.writeFileSync(path.join(next, 'strict.bpf'), seccompFilter('strict'));
  fs.copyFileSync(path.join(here, 'sh-wrap'), path.join(next, 'sh-wrap'));
  fs.chmodSync(path.join(next, 'sh-wrap'), 0o755);
  for (const { src, dest } of agentPrograms) fs.writeFileSync(path.join(next, `${path.basename(dest)}.sha256`), `${await sha256(src)}\n`);
  for (const [name, text] of Object.entries(files?.(await load('@fluidbox/contracts')) ?? {}))
    fs.writeFileSync(path.join(next, name), text);

  const binds = agentPrograms.map(({ src, dest }) => ({ src: path.relative(dist, src), dest }));
  const manifest = ImageManifest.parse({ digest: digestOf(next), binds });
  replaceFolder(next, path.join(dist, 'bundle'));
  openToAll(path.join(dist, 'bundle'));
  for (const { src } of agentPrograms) openToAll(src);
  replaceFile(path.join(dist, 'image.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** A sandbox started by root runs as another user: a build or an install under umask 077 must not shut it out. */
function openToAll(place) {
  const stat = fs.statSync(place);
  if (stat.isDirectory()) for (const name of fs.readdirSync(place)) openToAll(path.join(place, name));
  const open = stat.mode | ((stat.mode & 0o100) === 0 ? 0o444 : 0o555);
  if (open !== stat.mode && [0, stat.uid].includes(process.getuid())) fs.chmodSync(place, open);
}

/** Live sandboxes have the folder bound, and builds may run side by side: an unchanged bundle is left where it is. */
function replaceFolder(next, out) {
  if (fs.existsSync(out) && digestOf(out) === digestOf(next)) return fs.rmSync(next, { recursive: true });
  const old = `${out}.old.${process.pid}`;
  if (fs.existsSync(out)) fs.renameSync(out, old);
  fs.renameSync(next, out);
  fs.rmSync(old, { recursive: true, force: true });
}

function replaceFile(file, text) {
  fs.writeFileSync(`${file}.${process.pid}`, text);
  fs.renameSync(`${file}.${process.pid}`, file);
}
