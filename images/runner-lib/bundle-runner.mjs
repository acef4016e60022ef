// Builds the image of a runner: one CommonJS file that needs no node_modules, with the filter and the shell wrapper beside it.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;

/** Evaluates one TypeScript file of ours at build time, so that bundling needs no earlier build. */
async function load(file) {
  const { outputFiles } = await build({
    entryPoints: [file],
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

/**
 * @param {{ packageDir: string, agentProgram?: string, out?: string, plugins?: import('esbuild').Plugin[] }} options `agentProgram`: a binary that is bound beside the bundle; its
 * hash goes into the bundle, so that the runner's digest covers it.
 */
export async function bundleRunner({ packageDir, agentProgram, out = path.join(packageDir, 'dist', 'bundle'), plugins = [] }) {
  const next = `${out}.${process.pid}`;
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
  const { seccompFilter } = await load(path.join(here, 'src', 'seccomp.ts'));
  fs.writeFileSync(path.join(next, 'strict.bpf'), seccompFilter('strict'));
  fs.copyFileSync(path.join(here, 'sh-wrap'), path.join(next, 'sh-wrap'));
  fs.chmodSync(path.join(next, 'sh-wrap'), 0o755);
  if (agentProgram !== undefined) fs.writeFileSync(path.join(next, 'agent-program.sha256'), `${await sha256(agentProgram)}\n`);
  replaceFolder(next, out);
}

const digestOf = (dir) => {
  const hash = createHash('sha256');
  for (const name of fs.readdirSync(dir).sort()) hash.update(name).update(fs.readFileSync(path.join(dir, name)));
  return hash.digest('hex');
};

/** Live sandboxes have the folder bound, and builds may run side by side: an unchanged bundle is left where it is. */
function replaceFolder(next, out) {
  if (fs.existsSync(out) && digestOf(out) === digestOf(next)) return fs.rmSync(next, { recursive: true });
  const old = `${out}.old.${process.pid}`;
  if (fs.existsSync(out)) fs.renameSync(out, old);
  fs.renameSync(next, out);
  fs.rmSync(old, { recursive: true, force: true });
}
