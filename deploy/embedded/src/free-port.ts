import net from 'node:net';

const loopback = '127.0.0.1';

/** The port, when it can be bound on loopback now; undefined when it is taken. 0 asks the system for any free one. */
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

/** The preferred port when it is free (so that a restart keeps its address), else any. */
export async function freePort(preferred?: number): Promise<number> {
  const kept = preferred === undefined || preferred === 0 ? undefined : await bindablePort(preferred);
  const port = kept ?? (await bindablePort(0));
  if (port === undefined) throw new Error('the system gave no free port on 127.0.0.1');
  return port;
}
