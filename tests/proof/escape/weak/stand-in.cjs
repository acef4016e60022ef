// Plays the runner, the forwarder and the control plane inside the weak sandbox: everything that the attempts look for is here.

const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');

const [, , secret, ready] = process.argv;
const held = { memory: Buffer.from(`${secret}-in-memory`), file: fs.openSync('/host/shadow', 'r') };
fs.writeFileSync('/home/agent/.claude/notes', secret);
fs.writeFileSync('/tmp/notes', secret);
fs.writeFileSync('/workspace/notes', secret);

const answer = (_request, response) => response.end(`ok ${held.memory.length} ${held.file}`);
const listeners = [
  ...['/run/gw/control.sock', '/run/gw/llm.sock', '/run/llm.sock'].map((path) => [http.createServer(answer), path]),
  ...['/run/database.sock', '/run/docker.sock', '/tmp/cc-socks/one.sock'].map((path) => [net.createServer(), path]),
  [http.createServer(answer), 8080],
];
let open = 0;
for (const [server, at] of listeners) {
  server.listen(at, () => {
    open += 1;
    if (open === listeners.length) fs.writeFileSync(ready, '');
  });
}
