import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { toolsBin } from '@fluidbox/embedded';

/** What the checks may ask of the machine; tests give a machine of their own. */
export interface Machine {
  readonly platform: string;
  readonly arch: string;
  readonly nodeVersion: string;
  readonly isRoot: boolean;
  readonly osId: string;
  /** Searches as the commands do: what the set-up unpacked first, then PATH. */
  which(name: string): string | undefined;
  run(file: string, args: readonly string[]): { readonly ok: boolean; readonly output: string };
  read(file: string): string | undefined;
  isWritable(file: string): boolean;
}

function textOf(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

function allowed(file: string, mode: number): boolean {
  try {
    fs.accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}

export function thisMachine(environment: Readonly<Record<string, string | undefined>>, firstFolder = toolsBin): Machine {
  const searchPath = `${firstFolder}${path.delimiter}${environment.PATH ?? ''}`;
  return {
    platform: process.platform,
    arch: process.arch,
    nodeVersion: process.versions.node,
    isRoot: process.getuid?.() === 0,
    osId: /^ID(?:_LIKE)?="?([^"\n]*)/m.exec(textOf('/etc/os-release') ?? '')?.[1] ?? '',
    which: (name) =>
      searchPath
        .split(path.delimiter)
        .filter((dir) => dir !== '')
        .map((dir) => path.join(dir, name))
        .find((file) => allowed(file, fs.constants.X_OK) && fs.statSync(file).isFile()),
    run: (file, args) => {
      const result = spawnSync(file, args, { encoding: 'utf8', timeout: 20_000, env: { ...environment, PATH: searchPath } });
      return { ok: result.status === 0, output: `${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}`.trim() };
    },
    read: textOf,
    isWritable: (file) => allowed(file, fs.constants.W_OK),
  };
}

const installers: readonly (readonly [RegExp, string])[] = [
  [/debian|ubuntu/, 'apt-get install'],
  [/fedora|rhel|centos/, 'dnf install'],
  [/arch/, 'pacman -S'],
  [/alpine/, 'apk add'],
  [/suse/, 'zypper install'],
];

/** How this system installs a package. */
export function installCommand(machine: Machine, pkg: string): string {
  if (machine.platform === 'darwin') return `brew install ${pkg}`;
  const installer = installers.find(([pattern]) => pattern.test(machine.osId))?.[1];
  if (installer === undefined) return `install ${pkg} with the package manager of this system`;
  return `${machine.isRoot ? '' : 'sudo '}${installer} ${pkg}`;
}
