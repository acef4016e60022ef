import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type EscapeRow, escapeConversation, runEscape } from '../proof/escape/run-escape';
import { escapeTable, holesIn } from '../proof/escape/table';
import { attemptsInWeakSandbox } from '../proof/escape/weak/weak-sandbox';
import { addedLines } from './support/diff';
import { repositoryRoot, type SystemStack, startSystemStack } from './support/stack';
import { typesOf } from './support/wire-run';

/** Secrets of the services with names that no deny list would know. */
const canaries = { DATABASE_URL: 'postgres://canary', FUTURE_SECRET_X: 'canary2' };

/** The names that the README of the runner promises, and no others. */
function documentedVariables(): string[] {
  const readme = fs.readFileSync(path.join(repositoryRoot, 'images/claude-runner/README.md'), 'utf8');
  const section = readme.split('## What a command finds in its environment')[1]?.split('\n## ')[0] ?? '';
  const lists = section.split('\n').filter((line) => line.startsWith('- '));
  return lists.flatMap((line) => /`([^`]+)`/.exec(line)?.[1]?.split(' ') ?? []).sort();
}

const everything = `
name: everything
defaults: { tool_action: deny }
tools:
  - match: [Bash]
    action: allow
`;

const showEnvironment =
  "env > env.txt; cat /proc/self/environ | tr '\\0' '\\n' > self.txt; cat /proc/1/environ | tr '\\0' '\\n' > init.txt";

const egress = [
  "curl -sS --noproxy '*' -m 3 http://1.1.1.1/",
  'curl -sS -m 3 http://169.254.169.254/',
  "curl -sS -g -m 3 'http://[2606:4700:4700::1111]/'",
  'curl -sS -m 3 http://x.canary.example/',
  'timeout 3 bash -c "exec 3<>/dev/tcp/1.1.1.1/53"',
  `node -e "require('net').connect(53,'1.1.1.1').on('connect',()=>process.exit(0)).on('error',()=>process.exit(1))"`,
  `node -e "require('dns').resolve4('x.canary.example',(error)=>process.exit(error?1:0))"`,
  `node -e "require('dgram').createSocket('udp4').send('x',53,'1.1.1.1',(error)=>process.exit(error?1:0))"`,
  `python3 -c "import socket;socket.create_connection(('1.1.1.1',53),3)"`,
  `perl -MSocket -e 'socket(S,2,1,0);exit(connect(S,pack_sockaddr_in(53,inet_aton("1.1.1.1")))?0:1)'`,
];
const loopback = `node -e "require('http').createServer((q,r)=>r.end('inside')).listen(8000)" & for i in $(seq 100); do curl -s --noproxy '*' -m 3 http://127.0.0.1:8000/ >> twin.txt && break; sleep 0.2; done; kill $!`;
const tryEgress = [
  ...egress.map((command, index) => `${command} > /dev/null 2>&1; echo "egress ${index} $?" >> egress.txt`),
  loopback,
].join('\n');

const step = (match: string, command: string) => ({
  match,
  steps: [{ tools: [{ name: 'Bash', input: { command, description: 'x', timeout: 100_000 } }] }, { text: 'done' }],
});

describe('the sandbox, from a command of the real agent program', () => {
  let source = '';
  let stack: SystemStack | undefined;
  const running = (): SystemStack => {
    if (stack === undefined) throw new Error('the stack did not start');
    return stack;
  };

  beforeAll(async () => {
    source = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-sandbox-'));
    stack = await startSystemStack({
      script: { conversations: [escapeConversation, step('Show the environment.', showEnvironment), step('Try to get out.', tryEgress)] },
      sources: [source],
      environment: canaries,
    });
    await stack.admin.importPolicy('everything', { source: everything });
    await stack.admin.createAgent({ name: 'everything', policy: 'everything' });
  });
  afterAll(async () => {
    await stack?.stop();
    fs.rmSync(source, { recursive: true, force: true });
  });

  async function runTask(task: string): Promise<Map<string, string[]>> {
    const { session } = await running().admin.createSession({ agent: 'everything', task });
    for await (const event of running().admin.watch(session.id)) if (event.type === 'run.result') break;
    return addedLines((await running().admin.artifact(session.id, 'diff')).toString('utf8'));
  }

  it('[SANDBOX-1] lets none of the attempts through, and what must work works', async () => {
    const { rows, events } = await runEscape(running(), source, canaries);
    const holes = holesIn(rows);
    if (holes.length > 0) process.stderr.write(`${escapeTable(rows)}\n`);
    expect(holes).toEqual([]);
    expect(rows.filter(({ result }) => result === 'works')).toHaveLength(3);
    expect(rows.filter(({ result }) => result === 'blocked').length).toBeGreaterThanOrEqual(83);
    // Known and harmless: names that open nothing. Anything new here wants a decision.
    const disclosed = rows.filter(({ result }) => result === 'disclosed').map(({ name }) => name);
    expect(disclosed).toEqual(['names of host folders in the mount table']);
    // It was one call of the agent program, and the gate allowed it.
    expect(typesOf(events, 'tool.decision').map(({ data }) => data.verdict)).toEqual(['allow']);
    expect(events.at(-1)?.data).toMatchObject({ outcome: 'completed', coverage: 'full' });
  });

  it('[SANDBOX-2] gives a command the documented variables and nothing of the services’ environment', async () => {
    const files = await runTask('Show the environment.');
    const environment = files.get('env.txt') ?? [];
    const names = environment.filter((line) => line.includes('=')).map((line) => line.slice(0, line.indexOf('=')));
    expect(names.sort()).toEqual(documentedVariables());
    expect(files.get('self.txt')?.length).toBeGreaterThan(5);
    const seen = ['env.txt', 'self.txt', 'init.txt'].flatMap((name) => files.get(name) ?? []).join('\n');
    expect(seen).not.toContain('canary');
    expect(seen).not.toContain('test-provider-key');
    expect(seen).not.toMatch(/eyJ[\w-]+\.eyJ/);
    expect(seen).not.toContain(running().home);
  });

  it('[SANDBOX-1] refuses every way to the network, also to programs that ask no proxy and no resolver', async () => {
    const files = await runTask('Try to get out.');
    const codes = new Map((files.get('egress.txt') ?? []).map((line) => line.split(' ').slice(1).map(Number) as [number, number]));
    expect(codes.size).toBe(egress.length);
    expect(egress.filter((_, index) => codes.get(index) === 0)).toEqual([]);
    expect(files.get('twin.txt')).toEqual(['inside']);
  });
});

/** Refused even there: by the kernel itself, by an unprivileged host uid, or because there is nothing to reach. */
const closedEvenThere = new Set([
  'signal pids that /proc does not list',
  'names of host folders in the mount table',
  'groups of the host in /proc/self/cgroup',
  'read /proc/kcore',
  'read /proc/kmsg',
  'write /usr/bin/x',
  'write /usr/bin/bash',
  'write /proc/sys/kernel/core_pattern',
  'write /proc/sys/kernel/hostname',
  'write /proc/sysrq-trigger',
  'tcp over IPv6',
  'curl over IPv6',
  'name of a host through the system resolver',
  'interfaces other than loopback',
]);
/** Needs a program that a machine may not have: iproute2 makes the route that leads nowhere. */
const routed = fs.existsSync('/usr/sbin/ip') || fs.existsSync('/sbin/ip') || fs.existsSync('/usr/bin/ip');
const kernelCalls = [
  ...['ptrace attach', 'process_vm_readv', 'pidfd_getfd', 'kcmp'],
  ...['mount a tmpfs', 'bind mount', 'umount /usr', 'pivot_root', 'chroot', 'open_tree', 'fsopen', 'new user namespace (clone)'],
  ...['new network namespace (unshare)', 'sethostname', 'capabilities it has', 'run without a system-call filter'],
];

describe('the attempts where nothing stops them', () => {
  it('get through, so that a table of blocked ones says something', async () => {
    const rows = await attemptsInWeakSandbox();
    const missed = ({ group, name, result }: EscapeRow): boolean =>
      result !== 'through' &&
      result !== 'disclosed' &&
      result !== 'works' &&
      result !== 'not tried' &&
      !closedEvenThere.has(name) &&
      (group !== 'network' || routed);
    expect(rows.filter((row) => row.group !== 'kernel' && missed(row))).toEqual([]);
    expect(rows.filter((row) => kernelCalls.includes(row.name) && missed(row))).toEqual([]);
    expect(holesIn(rows).length).toBeGreaterThan(100);
  });
});
