import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const packageDir = path.join(__dirname, '..');
const modeOf = (...place: string[]) => fs.statSync(path.join(...place)).mode & 0o777;

describe('the bundle of an image', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-bundle-'));
  const program = path.join(dir, 'agent');

  function bundleUnder(umask: string) {
    const options = JSON.stringify({ packageDir, dist: path.join(dir, 'dist'), agentPrograms: [{ src: program, dest: '/opt/agent' }] });
    const script = `const { bundleRunner } = await import(${JSON.stringify(path.join(__dirname, 'bundle-runner.mjs'))}); await bundleRunner(${options});`;
    execFileSync('sh', ['-c', `umask ${umask}; exec "$0" --input-type=module -e "$1"`, process.execPath, script], { cwd: packageDir });
  }

  beforeAll(() => fs.writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 }));
  afterAll(() => fs.rmSync(dir, { recursive: true }));

  test('can be read by the user of the sandbox, whatever the umask of who built it; an unchanged one is opened too', () => {
    bundleUnder('077');
    const bundle = path.join(dir, 'dist', 'bundle');
    const seen = () => [
      modeOf(bundle),
      ...['main.js', 'strict.bpf', 'sh-wrap'].map((name) => modeOf(bundle, name) & 0o555),
      modeOf(program),
    ];
    expect(seen()).toEqual([0o755, 0o444, 0o444, 0o555, 0o755]);
    fs.chmodSync(path.join(bundle, 'main.js'), 0o600);
    bundleUnder('077');
    expect(seen()).toEqual([0o755, 0o444, 0o444, 0o555, 0o755]);
  });
});
