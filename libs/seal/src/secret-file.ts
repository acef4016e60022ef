import { closeSync, fstatSync, fsyncSync, openSync, readFileSync, writeFileSync } from 'node:fs';

/** Reads a file that holds a secret. Refuses one that others may read, and says how to mend it. */
export function readSecretFile(path: string, what: string): string {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (cause) {
    throw new Error(`cannot read the ${what} ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  try {
    const mode = fstatSync(descriptor).mode & 0o777;
    if ((mode & 0o077) !== 0)
      throw new Error(`the ${what} ${path} has mode ${mode.toString(8).padStart(4, '0')}: others may read it. Run: chmod 600 ${path}`);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

/** Creates a file of mode 0600 and makes it durable. Fails when it exists. */
export function writeSecretFile(path: string, text: string): void {
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
