import { spawn } from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { ContractClient } from './contract-client';
import * as checks from './probe-checks';
import { callBackoffMs } from './retry-policy';
import type { RunnerTokens } from './runner-input';
import type { Reply } from './transport';

export interface ProbeFinding {
  readonly check: string;
  /** Why the sandbox must not be used, or null. */
  readonly refusal: string | null;
}

const attemptMs = 2_000;
const doorAttempts = 10;
const outsideAddresses = ['1.1.1.1', '169.254.169.254'];
const hostPaths = [
  '/etc/shadow',
  '/etc/ssh',
  '/etc/kubernetes',
  '/root',
  '/var',
  '/sys',
  '/boot',
  '/run/docker.sock',
  '/run/systemd',
  '/proc/1/root/etc/shadow',
  '/dev/kmsg',
  '/dev/mem',
  '/dev/vsock',
];

/**
 * Looks from inside whether the sandbox keeps its promise, before the agent starts. Runs in the runner, which sees more than
 * the agent will: what it cannot reach, nothing below it can.
 */
export async function probeSandbox(client: ContractClient, tokens: RunnerTokens): Promise<ProbeFinding[]> {
  const finding = async (check: string, look: () => Promise<string | undefined> | string | undefined): Promise<ProbeFinding> => {
    try {
      return { check, refusal: (await look()) ?? null };
    } catch (error) {
      return { check, refusal: `could not be checked: ${String(error)}` };
    }
  };
  const secrets = Object.values(tokens);
  return Promise.all([
    finding('interfaces', () => checks.refuseInterfaces(fs.readFileSync('/proc/net/dev', 'utf8'))),
    ...outsideAddresses.map((address) =>
      finding(`tcp ${address}`, async () => checks.refuseReachability(`${address}:80`, await tcpOutcome(address))),
    ),
    finding('udp dns', async () => checks.refuseReachability('1.1.1.1:53', await udpOutcome('1.1.1.1'))),
    finding('vsock', async () => checks.refuseVsock(await vsockOutcome())),
    finding('top level', () => checks.refuseTopLevel(fs.readdirSync('/'))),
    finding('host files', () => checks.refuseVisible(hostPaths.filter((path) => fs.existsSync(path)))),
    finding('homes', () => checks.refuseVisible(listed('/home').filter((path) => path !== '/home/agent'))),
    finding('read-only root', () => refuseWritable('/probe')),
    finding('privileges', () => checks.refusePrivileges(fs.readFileSync('/proc/self/status', 'utf8'))),
    finding('own environment', () => checks.refuseCredentials('the environment', environmentBlock(), secrets)),
    ...processFiles().map((path) => finding(path, () => checks.refuseCredentials(path, readIfPermitted(path), secrets))),
    finding('wrong audience', async () => checks.refuseAudience(await knock(() => client.probe('events', 'tool', attemptMs)))),
    finding('door', async () => checks.refuseDoor(await knock(() => client.probe('heartbeat', 'control', attemptMs)))),
  ]);
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : String(error));

function tcpOutcome(host: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port: 80, timeout: attemptMs });
    const end = (outcome: string): void => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once('connect', () => end('connected'));
    socket.once('timeout', () => end('timed out'));
    socket.once('error', (error) => end(codeOf(error)));
  });
}

function udpOutcome(host: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = dgram.createSocket('udp4');
    const end = (outcome: string): void => {
      socket.close();
      resolve(outcome);
    };
    socket.once('error', (error) => end(codeOf(error)));
    socket.send(Buffer.alloc(12), 53, host, (error) => end(error ? codeOf(error) : 'sent'));
  });
}

/** Node cannot open AF_VSOCK; whichever interpreter of the base system is there tries for it. Without one the filter's presence must do. */
async function vsockOutcome(): Promise<string> {
  const perl =
    'socket(my $s, 40, 1, 0) and print "created" or print exists $!{EPERM} && $!{EPERM} ? "EPERM" : $!{EAFNOSUPPORT} ? "EAFNOSUPPORT" : "$!"';
  const python =
    'import socket,errno\ntry:\n socket.socket(40,1);print("created",end="")\nexcept OSError as e:print(errno.errorcode.get(e.errno),end="")';
  if (fs.existsSync('/usr/bin/perl')) return outputOf('/usr/bin/perl', ['-MErrno', '-e', perl]);
  if (fs.existsSync('/usr/bin/python3')) return outputOf('/usr/bin/python3', ['-c', python]);
  return /^Seccomp:\s*2/m.test(fs.readFileSync('/proc/self/status', 'utf8')) ? 'EPERM' : 'no filter and no interpreter to try with';
}

function outputOf(command: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { PATH: '/usr/bin' },
      cwd: '/',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: attemptMs * 5,
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
    child.on('error', reject);
    child.on('close', () => resolve(output));
  });
}

function listed(dir: string): string[] {
  return fs.existsSync(dir) ? fs.readdirSync(dir).map((name) => `${dir}/${name}`) : [];
}

function refuseWritable(path: string): string | undefined {
  try {
    fs.writeFileSync(path, '');
  } catch (error) {
    return ['EROFS', 'EACCES', 'EPERM'].includes(codeOf(error))
      ? undefined
      : `writing ${path} failed in an unexpected way: ${codeOf(error)}`;
  }
  return `the root of the sandbox is writable (${path})`;
}

function environmentBlock(): string {
  return Object.entries(process.env)
    .filter(([name]) => name !== 'FLUIDBOX_TOKENS_FD')
    .map(([name, value]) => `${name}=${value}`)
    .join('\0');
}

function processFiles(): string[] {
  return fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`]);
}

/** A process that may not be read (the runner's own binary is execute-only) or is gone gives nothing away. */
function readIfPermitted(path: string): string {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch (error) {
    if (['EACCES', 'EPERM', 'ENOENT', 'ESRCH'].includes(codeOf(error))) return '';
    throw error;
  }
}

/** The listener behind the door may be restarting at this very moment: only a refusal or a lasting silence counts. */
async function knock(attempt: () => Promise<Reply>): Promise<Reply> {
  for (let failures = 0; ; ) {
    try {
      const reply = await attempt();
      if (reply.status < 500) return reply;
    } catch (error) {
      if (failures + 1 >= doorAttempts) throw error;
    }
    failures += 1;
    if (failures >= doorAttempts) return { status: 503, body: '' };
    await pause(callBackoffMs(failures));
  }
}
