import { execFile } from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import { attempt, blocked, broken, codeOf, notTried, through, works } from './outcome.mjs';

const group = 'network';
const waitMs = 3_000;
const closedBy = 'network namespace with nothing but loopback';

export function connect(target) {
  return new Promise((resolve) => {
    const socket = net.connect({ ...target, timeout: waitMs });
    const end = (outcome) => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once('connect', () => end(through('connected')));
    // Silence is not a refusal: somebody may have received the packet.
    socket.once('timeout', () => end(through('the packet was sent, nobody answered')));
    socket.once('error', (error) => end(blocked(codeOf(error))));
  });
}

function send(type, address, port, bytes) {
  return new Promise((resolve) => {
    const socket = dgram.createSocket(type);
    const end = (outcome) => {
      socket.close();
      resolve(outcome);
    };
    socket.once('error', (error) => end(blocked(codeOf(error))));
    socket.send(bytes, port, address, (error) => end(error ? blocked(codeOf(error)) : through('sent')));
  });
}

/** A question for the address of x.canary.example. */
const dnsQuestion = Buffer.from('123401000001000000000000017806 63616e617279076578616d706c650000010001'.replace(' ', ''), 'hex');

/** `refused`: the exit codes with which this program reports that the system refused; anything else, silence too, let a packet out. */
function program(file, args, refused = [1]) {
  return new Promise((resolve) => {
    execFile(file, args, { timeout: waitMs * 2 }, (error, stdout) => {
      if (error?.code === 'ENOENT') return resolve(notTried(`no ${file} here`));
      if (!error) return resolve(through(`succeeded: ${stdout.slice(0, 60)}`));
      resolve(
        refused.includes(error.code) ? blocked(`exit ${error.code}`) : through(`exit ${error.code}: no answer, but no refusal either`),
      );
    });
  });
}

const curl = (...args) => program('curl', ['-sS', '-m', '3', ...args], [7]);
const perlSocket = 'socket(my $s,2,1,0); connect($s, pack_sockaddr_in(53, inet_aton("1.1.1.1"))) or exit($!{ENETUNREACH} ? 1 : 2)';
const pythonSocket = `
import errno, socket, sys
try: socket.create_connection(('1.1.1.1', 53), 3)
except OSError as error: sys.exit(1 if error.errno == errno.ENETUNREACH else 2)`;

const lookup = (name) =>
  new Promise((resolve) => {
    dns.lookup(name, (error, address) => resolve(error ? blocked(error.code) : through(address)));
  });

async function resolver(name) {
  const asked = new dns.promises.Resolver({ timeout: waitMs, tries: 1 });
  asked.setServers(['1.1.1.1']);
  try {
    return through(await asked.resolve4(name));
  } catch (error) {
    if (error.code === 'ETIMEOUT') return through('the question was sent, nobody answered');
    throw error;
  }
}

function interfaces() {
  const listed = fs
    .readFileSync('/proc/net/dev', 'utf8')
    .split('\n')
    .slice(2)
    .map((line) => line.split(':')[0].trim());
  const found = [...new Set([...listed, ...Object.keys(os.networkInterfaces())])].filter((name) => name !== '' && name !== 'lo');
  return found.length > 0 ? through(found.join(' ')) : blocked('only lo');
}

function routes() {
  const found = fs.readFileSync('/proc/net/route', 'utf8').trim().split('\n').slice(1);
  return found.length > 0 ? through(found.join('; ')) : blocked('no route');
}

function loopback() {
  return new Promise((resolve) => {
    const server = net.createServer((socket) => socket.end('hello'));
    server.once('error', (error) => resolve(broken(codeOf(error))));
    server.listen(0, '127.0.0.1', () => {
      const socket = net.connect(server.address().port, '127.0.0.1');
      const end = (outcome) => {
        server.close();
        resolve(outcome);
      };
      socket.once('data', () => end(works('a server and its client talk on loopback')));
      socket.once('error', (error) => end(broken(codeOf(error))));
    });
  });
}

export const networkAttempts = () => [
  attempt(group, 'tcp to 1.1.1.1:80', closedBy, () => connect({ host: '1.1.1.1', port: 80 })),
  attempt(group, 'tcp to 1.1.1.1:443', closedBy, () => connect({ host: '1.1.1.1', port: 443 })),
  attempt(group, 'tcp over IPv6', closedBy, () => connect({ host: '2606:4700:4700::1111', port: 80 })),
  attempt(group, 'tcp to the metadata address 169.254.169.254', closedBy, () => connect({ host: '169.254.169.254', port: 80 })),
  attempt(group, 'tcp to a private network 10.0.0.1', closedBy, () => connect({ host: '10.0.0.1', port: 22 })),
  attempt(group, 'dns question over udp to 1.1.1.1', closedBy, () => send('udp4', '1.1.1.1', 53, dnsQuestion)),
  attempt(group, 'dns question over udp and IPv6', closedBy, () => send('udp6', '2606:4700:4700::1111', 53, dnsQuestion)),
  attempt(group, 'udp to the metadata address', closedBy, () => send('udp4', '169.254.169.254', 80, Buffer.alloc(8))),
  attempt(group, 'multicast', closedBy, () => send('udp4', '224.0.0.251', 5353, dnsQuestion)),
  attempt(group, 'name of a host through the system resolver', closedBy, () => lookup('x.canary.example')),
  attempt(group, 'name of a host through a resolver of its own', closedBy, () => resolver('x.canary.example')),
  attempt(group, 'interfaces other than loopback', closedBy, interfaces),
  attempt(group, 'a route', closedBy, routes),
  attempt(group, "curl --noproxy '*' http://1.1.1.1/", closedBy, () => curl('--noproxy', '*', 'http://1.1.1.1/')),
  attempt(group, 'curl to the metadata address', closedBy, () => curl('http://169.254.169.254/')),
  attempt(group, 'curl over IPv6', closedBy, () => curl('-g', 'http://[2606:4700:4700::1111]/')),
  attempt(group, 'bash /dev/tcp/1.1.1.1/80', closedBy, () => program('bash', ['-c', 'exec 3<>/dev/tcp/1.1.1.1/80'])),
  attempt(group, 'perl socket to 1.1.1.1:53', closedBy, () => program('perl', ['-MSocket', '-e', perlSocket])),
  attempt(group, 'python socket to 1.1.1.1:53', closedBy, () => program('python3', ['-c', pythonSocket])),
  attempt(group, 'must work: loopback inside the sandbox', '-', loopback),
];
