import { createRequire } from 'node:module';
import path from 'node:path';
import { bundleRunner } from '@fluidbox/runner-lib/bundle';
import { modelCatalogue } from './models.mjs';

// The program is an optional dependency of its package, found from the package's own place; it is bound, not bundled.
const launcher = createRequire(import.meta.url).resolve('@openai/codex/bin/codex.js');
const platform = createRequire(launcher).resolve(`@openai/codex-linux-${process.arch}/package.json`);
const vendor = path.join(path.dirname(platform), 'vendor', `${{ x64: 'x86_64', arm64: 'aarch64' }[process.arch]}-unknown-linux-musl`);
const program = path.join(vendor, 'bin/codex');

/** @param {Partial<Parameters<typeof bundleRunner>[0]>} [more] */
export const bundle = (more = {}) =>
  bundleRunner({
    packageDir: import.meta.dirname,
    agentPrograms: [
      { src: program, dest: '/opt/codex' },
      // Models are taught to search with it; a host rarely has it.
      { src: path.join(vendor, 'codex-path/rg'), dest: '/opt/rg' },
    ],
    files: ({ harnesses }) => ({ 'models.json': JSON.stringify(modelCatalogue(program, harnesses.codex.models)) }),
    ...more,
  });

if (process.argv[1] === import.meta.filename) await bundle();
