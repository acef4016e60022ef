import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

type Target = 'control' | 'llm';
export type ResolveTarget = (target: Target) => { host: string; port: number } | null;

/** More than a runner and its agent ever need at once; a runner that opens more waits. */
const connectionsMax = 256;

/** Where up.json says the internal listeners are now: read anew per connection, because they move when the stack restarts. */
export function targetsFromUpFile(upFile: string): ResolveTarget {
  return (target) => {
    try {
      const up: unknown = JSON.parse(fs.readFileSync(upFile, 'utf8'));
      const value = typeof up === 'object' && up !== null ? (up as Record<string, unknown>)[`${target}_url`] : undefined;
      const url = new URL(String(value));
      if (url.protocol !== 'http:') return null;
      return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80) };
    } catch {
      // The stack is down or just writing the file: the runner's call fails and it tries again.
      return null;
    }
  };
}

/**
 * The only way out of the sandbox: two sockets in one folder, each a raw byte pipe to an internal listener. Nothing is parsed here; the
 * listeners check tokens. Call with the folder as working directory of the process: a socket's path may be no longer than 107 bytes.
 */
export async function openDoor(folder: string, uid: number | null, resolve: ResolveTarget): Promise<{ close(): void }> {
  process.chdir(folder);
  const servers = await Promise.all((['control', 'llm'] as const).map((target) => listen(`${target}.sock`, uid, () => resolve(target))));
  return {
    close: () => {
      for (const server of servers) server.close();
      for (const target of ['control', 'llm']) fs.rmSync(path.join(folder, `${target}.sock`), { force: true });
    },
  };
}

async function listen(socket: string, uid: number | null, resolve: () => { host: string; port: number } | null): Promise<net.Server> {
  fs.rmSync(socket, { force: true });
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (inner) => pipeTo(inner, resolve()));
  server.maxConnections = connectionsMax;
  await new Promise<void>((ready, failed) => {
    server.once('error', failed);
    server.listen(socket, ready);
  });
  fs.chmodSync(socket, 0o600);
  if (uid !== null) fs.chownSync(socket, uid, uid);
  return server;
}

function pipeTo(inner: net.Socket, target: { host: string; port: number } | null): void {
  if (target === null) {
    inner.destroy();
    return;
  }
  const outer = net.connect({ ...target, allowHalfOpen: true, noDelay: true });
  // Either side breaking breaks the other: the caller must see a dead connection, never a silent one.
  for (const [one, other] of [
    [inner, outer],
    [outer, inner],
  ] as const) {
    one.on('error', () => other.destroy());
    one.on('close', (hadError) => (hadError ? other.destroy() : other.end()));
    one.pipe(other);
  }
}
