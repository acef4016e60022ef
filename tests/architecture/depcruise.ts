import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { repositoryRoot } from './sources';

const config = path.join(repositoryRoot, '.dependency-cruiser.cjs');
const groups = ['services', 'libs', 'images', 'deploy'] as const;

const Report = z.object({
  summary: z.object({
    totalCruised: z.number(),
    violations: z.array(z.object({ from: z.string(), to: z.string(), rule: z.object({ name: z.string() }) })),
  }),
});
export interface Violation {
  readonly rule: string;
  readonly from: string;
  readonly to: string;
}

/** Breaches of the import rules in the packages under `folder`. */
export function violationsIn(
  folder: string,
  only: readonly string[] = groups,
): { readonly violations: readonly Violation[]; readonly modules: number } {
  const program = path.join(repositoryRoot, 'node_modules/.bin/depcruise');
  const run = spawnSync(program, ['--config', config, '--output-type', 'json', ...only], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  if (run.error !== undefined) throw run.error;
  const { summary } = Report.parse(JSON.parse(run.stdout === '' ? `{"error":${JSON.stringify(run.stderr)}}` : run.stdout));
  return { modules: summary.totalCruised, violations: summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to })) };
}

/** npm packages that the fixtures import. */
const npmPackages = ['@nats-io/transport-node', '@nestjs/common', 'pg', 'yaml'];

/** The fixtures as a workspace of their own, where each package finds every other by name, as pnpm links them. */
export function fixtureWorkspace(): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'fluidbox-import-rules-'));
  cpSync(path.join(__dirname, 'fixtures'), folder, { recursive: true });
  const modules = path.join(folder, 'node_modules');
  mkdirSync(path.join(modules, '@fluidbox'), { recursive: true });
  for (const group of groups) {
    for (const name of readdirSync(path.join(folder, group))) {
      const home = path.join(folder, group, name);
      writePackage(home, { name: `@fluidbox/${name}`, exports: { '.': { source: './src/index.ts', default: './dist/index.js' } } });
      symlinkSync(home, path.join(modules, '@fluidbox', name));
    }
  }
  for (const name of npmPackages) {
    const home = path.join(modules, name);
    mkdirSync(home, { recursive: true });
    writePackage(home, { name, main: 'index.js' });
    writeFileSync(path.join(home, 'index.js'), '');
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

const writePackage = (home: string, content: Readonly<Record<string, unknown>>): void =>
  writeFileSync(path.join(home, 'package.json'), JSON.stringify(content));
