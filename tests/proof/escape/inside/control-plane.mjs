import fs from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { connect } from './network.mjs';
import { attempt, blocked, codeOf, through } from './outcome.mjs';

const group = 'control plane';
const waitMs = 3_000;

/** Where the runner, the forwarder and the door have their sockets, from the outermost layer to this command's own. */
const sockets = ['/run/gw/control.sock', '/run/gw/llm.sock', '/run/cp.sock', '/run/llm.sock', '/tmp/gw/llm.sock'];
const forwarders = [...sockets.map((path) => ({ path })), { host: '127.0.0.1', port: 8080 }];

const nobodyThere = new Set(['ENOENT', 'ECONNREFUSED', 'EACCES', 'EPERM', 'ENOTDIR']);

function ask(endpoint, method, url, body, headers) {
  return new Promise((resolve, reject) => {
    const { path: socketPath, ...address } = endpoint;
    const where = socketPath === undefined ? address : { socketPath };
    const request = http.request({
      ...where,
      method,
      path: url,
      timeout: waitMs,
      headers: { 'content-type': 'application/json', ...headers },
    });
    request.on('timeout', () => request.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
    request.on('error', reject);
    const answered = (response) => {
      resolve(`HTTP ${response.statusCode}`);
      response.destroy();
    };
    request.on('response', answered);
    request.on('connect', answered);
    request.end(body);
  });
}

/** Any answer at all is one too many: it came from the runner, the forwarder or the control plane. */
async function throughForwarder(method, url, body = '{}', headers = {}) {
  const failures = new Set();
  for (const endpoint of forwarders) {
    try {
      return through(`${await ask(endpoint, method, url, body, headers)} from ${JSON.stringify(endpoint)}`);
    } catch (error) {
      // A connection that was made and then broken shows that somebody is there.
      if (!nobodyThere.has(codeOf(error))) return through(`${codeOf(error)} from ${JSON.stringify(endpoint)}`);
      failures.add(codeOf(error));
    }
  }
  return blocked([...failures].join(' '));
}

async function anyOf(endpoints) {
  const failures = new Set();
  for (const endpoint of endpoints) {
    const outcome = await connect(endpoint);
    if (outcome.result === 'through') return through(`${JSON.stringify(endpoint)} ${outcome.detail}`);
    failures.add(outcome.detail);
  }
  return blocked([...failures].join(' ') || 'there is none');
}

const numbered = () => fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
const inRoots = () => numbered().flatMap((pid) => sockets.map((socket) => ({ path: `/proc/${pid}/root${socket}` })));

/** Names of unix sockets that this command's network namespace knows; abstract ones start with @. */
const listedSockets = () =>
  fs
    .readFileSync('/proc/net/unix', 'latin1')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/)[7])
    .filter((name) => name !== undefined);

const listeners = () =>
  ['tcp', 'tcp6']
    .flatMap((table) => fs.readFileSync(`/proc/net/${table}`, 'latin1').split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A')
    .map((fields) => Number.parseInt(fields[1].split(':')[1], 16));

function messagingSockets() {
  const folder = '/tmp/cc-socks';
  const named = process.env.CLAUDE_CODE_MESSAGING_SOCKET;
  const found = fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => join(folder, name)) : [];
  return anyOf([...found, ...(named ? [named] : [])].map((path) => ({ path })));
}

const model = JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] });
const notInside = 'not bound into the sandbox of a command';
const ownNetwork = 'network namespace of each command';

export const controlPlaneAttempts = ({ urls, databaseSocket }) => [
  attempt(group, 'connect to the door’s control socket', notInside, () => anyOf([{ path: sockets[0] }])),
  attempt(group, 'connect to the door’s llm socket', notInside, () => anyOf([{ path: sockets[1] }])),
  attempt(group, 'connect to the forwarder’s socket', notInside, () => anyOf(sockets.slice(2).map((path) => ({ path })))),
  attempt(group, 'the same sockets through /proc/*/root', 'pid and mount namespaces', () => anyOf(inRoots())),
  attempt(group, 'unix sockets listed in /proc/net/unix', ownNetwork, () => {
    const found = listedSockets();
    return found.length > 0 ? through(found.join(' ')) : blocked('none listed');
  }),
  attempt(group, 'listeners on the loopback it sees', ownNetwork, () => {
    const found = listeners();
    return found.length > 0 ? through(found.join(' ')) : blocked('nobody listens');
  }),
  attempt(group, 'the agent program’s messaging socket', 'hidden by the layer of each command', messagingSockets),
  attempt(group, 'forwarder: a model call of its own', ownNetwork, () => throughForwarder('POST', '/v1/messages', model)),
  attempt(group, 'forwarder: count_tokens', ownNetwork, () => throughForwarder('POST', '/v1/messages/count_tokens', model)),
  attempt(group, 'forwarder: /internal/permission', ownNetwork, () => throughForwarder('POST', '/internal/permission')),
  attempt(group, 'forwarder: traversal to permission', ownNetwork, () => throughForwarder('POST', '/v1/messages/../../../permission')),
  attempt(group, 'forwarder: encoded traversal', ownNetwork, () => throughForwarder('POST', '/v1/messages%2f..%2f..%2fpermission')),
  attempt(group, 'forwarder: traversal in the query', ownNetwork, () => throughForwarder('POST', '/v1/messages?/../../permission')),
  attempt(group, 'forwarder: absolute URL', ownNetwork, () => throughForwarder('POST', 'http://cp/internal/permission')),
  attempt(group, 'forwarder: CONNECT', ownNetwork, () => throughForwarder('CONNECT', 'cp:80')),
  attempt(group, 'forwarder: a token of its own choice', ownNetwork, () =>
    throughForwarder('POST', '/v1/messages', model, { authorization: 'Bearer x', 'x-api-key': 'y' }),
  ),
  ...Object.entries(urls).map(([name, url]) =>
    attempt(group, `connect to the stack’s ${name} listener`, ownNetwork, () => {
      const { hostname, port } = new URL(url);
      return connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) });
    }),
  ),
  attempt(group, 'connect to the stack’s database', 'host files are not mounted', () => connect({ path: databaseSocket })),
  attempt(group, 'connect to docker, containerd, systemd, dbus, nscd', 'host files are not mounted', () =>
    anyOf(
      [
        '/var/run/docker.sock',
        '/run/docker.sock',
        '/run/containerd/containerd.sock',
        '/run/systemd/private',
        '/run/dbus/system_bus_socket',
        '/var/run/nscd/socket',
      ].map((path) => ({ path })),
    ),
  ),
];
