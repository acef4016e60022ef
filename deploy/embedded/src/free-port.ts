import { randomInt } from 'node:crypto';
import net from 'node:net';

const loopback = '127.0.0.1';

/** The port, when it can be bound on loopback now; undefined when it is taken. */
export function bindablePort(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined);
      else reject(error);
    });
    server.listen({ port, host: loopback, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}

/**
 * Below the range from which systems take the local ports of outgoing connections: otherwise a client that reconnects to a server which
 * is being restarted may be given the server's own port, connect to itself, and keep the server from coming back.
 */
const serverPorts = { first: 20_000, last: 29_999 };
const TRIES = 200;

/** The preferred port when it is free (so that a restart keeps its address), else any other that is not in `taken`. */
export async function freePort(preferred?: number, taken: ReadonlySet<number> = new Set()): Promise<number> {
  if (preferred !== undefined && preferred !== 0 && !taken.has(preferred) && (await bindablePort(preferred)) !== undefined)
    return preferred;
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(serverPorts.first, serverPorts.last + 1);
    if (!taken.has(port) && (await bindablePort(port)) !== undefined) return port;
  }
  throw new Error(`no free port on ${loopback} between ${serverPorts.first} and ${serverPorts.last}`);
}

const triesMax = 3;
const portWasTaken = /address already in use/i;

/**
 * Starts a server on the preferred port or on another free one. Between the look at a port and the server's bind another process may take it; then the
 * server says so as it fails, and is started on another port.
 */
export async function onAFreePort<T>(preferred: number | undefined, start: (port: number) => Promise<T>): Promise<T> {
  const taken = new Set<number>();
  for (;;) {
    const port = await freePort(preferred, taken);
    try {
      return await start(port);
    } catch (error) {
      taken.add(port);
      if (taken.size === triesMax || !(error instanceof Error) || !portWasTaken.test(error.message)) throw error;
    }
  }
}
