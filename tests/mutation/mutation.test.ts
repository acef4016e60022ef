import { spawn } from 'node:child_process';
import path from 'node:path';
import { counted, findMutants, mutated } from './find-mutants';

/** Survivors and the closing line go where a person sees them, also when all is well. */
function runMutants(...args: string[]): Promise<{ code: number | null; output: string }> {
  const register = path.join(__dirname, '../../libs/tooling/process/register.cjs');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--conditions=source', '--require', register, path.join(__dirname, 'main.ts'), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      process.stderr.write(chunk);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

it('[POLICY-6] the unit tests of the policy package notice nine of ten mutants', async () => {
  const { code, output } = await runMutants(...(process.env.FLUIDBOX_MUTANTS === 'all' ? ['--all'] : []));
  expect(output).toMatch(/^\d+ mutants, \d+ killed /m);
  expect(code).toBe(0);
});

describe('a mutant', () => {
  const text = 'export const f = (a: number): boolean => a > 1 && [a].some((x) => !x);\nfunction g() { if (f(2)) return true; }\n';
  const { mutants, functions } = findMutants('x.ts', text);
  it('changes one place, and none of a type or a text', () => {
    expect(mutants.map((mutant) => mutated(text, mutant).split('\n')[mutant.line - 1])).toEqual([
      'export const f = (a: number): boolean => (a > 1 || [a].some((x) => !x));',
      'export const f = (a: number): boolean => (a >= 1) && [a].some((x) => !x);',
      'export const f = (a: number): boolean => a > 1 && [a].every((x) => !x);',
      'export const f = (a: number): boolean => a > 1 && [].some((x) => !x);',
      'export const f = (a: number): boolean => a > 1 && [a].some((x) => x);',
      'function g() {}',
      'function g() { if (true) return true; }',
      'function g() { if (false) return true; }',
      'function g() { if (f(2)) return false; }',
    ]);
    expect(findMutants('x.ts', "const a: true = 'a' + 'b' as true; type B = true[];").mutants).toEqual([]);
  });
  it('knows the function around it', () => {
    expect(counted(text, functions)).toBe(
      'export const f = (a: number): boolean => (__called(0), a > 1 && [a].some((x) => (__called(1), !x)));\nfunction g() {__called(2); if (f(2)) return true; }\n',
    );
    expect(mutants.map(({ within }) => within)).toEqual([0, 0, 0, 0, 1, 2, 2, 2, 2]);
  });
});
