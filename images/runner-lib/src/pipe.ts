import { once } from 'node:events';
import net from 'node:net';
import type { Endpoint } from './transport';

export interface LoopbackPipe {
  readonly port: number;
  close(): void;
}

/** Raw bytes from a port on loopback to an endpoint, for programs that cannot speak HTTP over a unix socket. */
export async function pipeLoopback(endpoint: Endpoint): Promise<LoopbackPipe> {
  const open = new Set<net.Socket>();
  const server = net.createServer((inner) => {
    const outer = endpoint.kind === 'unix' ? net.connect(endpoint.socketPath) : net.connect(portOf(endpoint.url), endpoint.url.hostname);
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      open.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => open.delete(socket));
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the pipe has no port');
  return {
    port: address.port,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** TLS cannot be ended in a raw pipe; such a launcher needs no wrapper. */
function portOf(url: URL): number {
  if (url.protocol !== 'http:') throw new Error('FLUIDBOX_CONTROL_URL and FLUIDBOX_LLM_URL must be unix: or http: for a wrapped runner');
  return Number(url.port || 80);
}
