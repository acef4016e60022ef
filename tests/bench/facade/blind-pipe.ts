import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** The least that stands between two sockets: bytes from one HTTP connection to the other, nothing read. The control of the facade benches. */
const upstream = new URL(process.env.BENCH_PROVIDER ?? '');
const agent = new http.Agent({ keepAlive: true });
const server = http.createServer((request, response) => {
  const { host: _host, connection: _connection, ...headers } = request.headers;
  const options = { host: upstream.hostname, port: upstream.port, method: request.method, path: request.url, headers, agent };
  const out = http.request(options, (answer) => {
    const { connection: _hop, 'transfer-encoding': _framing, 'keep-alive': _timer, ...kept } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, kept);
    answer.pipe(response);
  });
  out.on('error', () => response.destroy());
  request.pipe(out);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
