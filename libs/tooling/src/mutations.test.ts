import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(__dirname, '../../..');

interface Mutant {
  readonly what: string;
  readonly patches: readonly { readonly file: string; readonly find: string }[];
  readonly prepare?: readonly string[];
  readonly tests: readonly { readonly file: string; readonly red: readonly string[]; readonly twins: readonly string[] }[];
}

function mutations(): Record<string, { readonly mutants: readonly Mutant[] }> {
  const file = path.join(root, 'libs/tooling/bin/mutate/mutations.mjs');
  const code = `console.log(JSON.stringify((await import(${JSON.stringify(file)})).mutations))`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

const read = (file: string): string => fs.readFileSync(path.join(root, file), 'utf8');

/** Tests of a suite that several files share stand in a fixture beside them. */
function titlesNear(file: string): RegExp[] {
  const folder = path.join(root, path.dirname(file), '../fixtures');
  const fixtures = fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => fs.readFileSync(path.join(folder, name), 'utf8')) : [];
  return [read(file), ...fixtures].flatMap((text) =>
    [...text.matchAll(/\bit(?:\.each\([^)]*\))?(?:<[^(]*>)?\(\s*(['"`])(.*?)\1,/g)].map(
      ([, , title = '']) => new RegExp(title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(/%[dis]/g, '.*')),
    ),
  );
}

const all = Object.entries(mutations()).flatMap(([name, { mutants }]) =>
  mutants.map((mutant) => [`${name}: ${mutant.what}`, mutant] as const),
);

describe('the mutations', () => {
  it.each(all)('%s: each place stands in its file exactly once', (_name, { patches }) => {
    for (const { file, find } of patches) expect([file, read(file).split(find).length - 1]).toEqual([file, 1]);
  });

  it.each(all)('%s: its tests exist, and at least one must turn red', (_name, { tests, prepare = [] }) => {
    expect(tests.flatMap(({ red }) => red).length).toBeGreaterThan(0);
    for (const script of prepare) expect(fs.existsSync(path.join(root, script))).toBe(true);
    for (const { file, red, twins } of tests) {
      const titles = titlesNear(file);
      const missing = [...red, ...twins].filter((wanted) => !titles.some((title) => title.test(wanted) || title.source.includes(wanted)));
      expect([file, missing]).toEqual([file, []]);
    }
  });
});
