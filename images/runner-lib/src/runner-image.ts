import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** A runner as the sandbox provider mounts it. */
export interface RunnerImage {
  /** Host folder that is bound read-only at /opt/runner; holds main.js, strict.bpf and sh-wrap. */
  readonly dir: string;
  /** SHA-256 (hex) over names and contents of `dir`: frozen into the run's spec. */
  readonly digest: string;
  /** Further read-only binds, for example the agent program. */
  readonly extraBinds: readonly { readonly src: string; readonly dest: string }[];
}

/** Names and contents of the folder in name order, each length-prefixed so that no two folders share a digest. */
export function digestOfBundle(dir: string): string {
  const hash = createHash('sha256');
  for (const name of fs.readdirSync(dir).sort()) {
    const bytes = fs.readFileSync(path.join(dir, name));
    hash.update(`${name.length}:${name}${bytes.length}:`).update(bytes);
  }
  return hash.digest('hex');
}

/** Reads the built image of a package; `packageDir` is the folder that holds its package.json. */
export function runnerImageAt(packageDir: string, extraBinds: RunnerImage['extraBinds'] = []): RunnerImage {
  const dir = path.join(packageDir, 'dist', 'bundle');
  for (const name of ['main.js', 'strict.bpf', 'sh-wrap']) {
    if (!fs.existsSync(path.join(dir, name))) {
      throw new Error(`${path.join(dir, name)} is missing: build it with \`node ${path.join(packageDir, 'bundle.mjs')}\``);
    }
  }
  for (const bind of extraBinds) {
    if (!fs.existsSync(bind.src)) throw new Error(`${bind.src} (bound at ${bind.dest}) is missing: install the dependencies again`);
  }
  return { dir, digest: digestOfBundle(dir), extraBinds };
}
