import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type StreamRef, type TimelineEvent, terminalStatuses, type WorkspaceInput } from '@fluidbox/contracts';
import { FolderBlobStore } from '@fluidbox/event-store';
import { killProcess } from '../adapters/local/cgroups';
import { LocalProvider } from '../adapters/local/local-provider';
import { LocalSandboxes } from '../adapters/local/sandboxes';
import { firstSandboxUid } from '../adapters/local/uids';
import { RunPlaces } from '../adapters/run-places';
import { workspaces } from '../adapters/workspaces';
import { Slots } from '../domain/slots';
import { PlayedRuns } from '../testing/played-run';
import { type SandboxFixture, startSandboxFixture, until } from '../testing/sandbox-fixture';
import { type DrivePorts, driveRun } from './drive-run';
import type { ArtifactRow } from './ports';

const runnerDigest = `sha256:${'b'.repeat(64)}`;
const firstUid = process.getuid?.() === 0 ? firstSandboxUid() : null;
let fixture: SandboxFixture;
let source: string;
let runs: PlayedRuns;
let artifacts: ArtifactRow[];
let folder: string;
let count = 0;

beforeAll(async () => {
  fixture = await startSandboxFixture();
  const dist = path.join(fixture.dir, 'images/scripted-runner/dist');
  fs.mkdirSync(dist, { recursive: true });
  fs.cpSync(path.join(fixture.dir, 'bundle'), path.join(dist, 'bundle'), { recursive: true });
  fs.writeFileSync(path.join(dist, 'image.json'), JSON.stringify({ digest: runnerDigest, binds: [] }));
  source = fs.realpathSync(fs.mkdtempSync(path.join(fixture.dir, 'source-')));
  fs.writeFileSync(path.join(source, 'a.txt'), 'old\n');
});
afterAll(() => fixture.close());
beforeEach(() => {
  runs = new PlayedRuns();
  artifacts = [];
  count += 1;
  folder = path.join(fixture.dir, `deployment-${count}`);
});

class Crash extends Error {}

/** A scheduler process: its ports on the state that outlives it. `crashAfter`: the number of the port call right after which it dies. */
function scheduler({ crashAfter = Number.POSITIVE_INFINITY, slots = 8 } = {}): {
  ports: DrivePorts;
  calls: () => string[];
  woken: string[];
} {
  const { ledger, keyring } = runs.schedulerLedger();
  const woken: string[] = [];
  const calls: string[] = [];
  /** The process dies when the call has taken effect and before anybody learns of it; from then on nothing it does has any effect. */
  const mortal = <F extends (...args: never[]) => unknown>(name: string, call: F): F =>
    ((...args: never[]) => {
      if (calls.length >= crashAfter) throw new Crash(name);
      calls.push(name);
      const dead = calls.length >= crashAfter;
      const result = call(...args);
      if (!dead) return result;
      if (!(result instanceof Promise) && typeof (result as { then?: unknown } | undefined)?.then !== 'function') throw new Crash(name);
      return (result as Promise<unknown>).then(() => {
        throw new Crash(name);
      });
    }) as F;
  const places = new RunPlaces(path.join(folder, 'runs'), 'test', firstUid);
  const sandboxes = new LocalSandboxes(new LocalProvider(fixture.supervisorScript), {
    deploymentId: 'test',
    upFile: fixture.upFile,
    imagesDir: path.join(fixture.dir, 'images'),
    nodeDir: path.join(fixture.dir, 'node'),
    limits: { memoryBytes: 1024 ** 3, pids: 256, cpus: 2 },
    firstUid,
    searchPath: '',
  });
  const blobs = new FolderBlobStore(path.join(folder, 'blobs'));
  const spaces = workspaces({
    localSources: [source],
    privateGitHosts: [],
    proxy: null,
    caFile: null,
    timeoutMs: 60_000,
    limits: { filesMax: 1000, bytesMax: 1e7, fileBytesMax: 1e6 },
  });
  const ports: DrivePorts = {
    ledger: { ...ledger, record: mortal('record', ledger.record) },
    keyring,
    blobs: {
      put: mortal('put', blobs.put.bind(blobs)),
      open: blobs.open.bind(blobs),
      has: blobs.has.bind(blobs),
      remove: blobs.remove.bind(blobs),
    },
    launch: mortal('launch', (stream: StreamRef) => runs.launch(stream)),
    runKeys: (stream) => runs.runKeys(stream),
    saveArtifact: mortal('saveArtifact', async (artifact: ArtifactRow) => {
      if (!artifacts.some(({ id }) => id === artifact.id)) artifacts.push(artifact);
    }),
    places: {
      take: mortal('take', places.take.bind(places)),
      find: places.find.bind(places),
      clear: mortal('clear', places.clear.bind(places)),
    },
    workspaces: { find: spaces.find, prepare: mortal('prepare', spaces.prepare), diff: mortal('diff', spaces.diff) },
    sandboxes: {
      plan: sandboxes.plan.bind(sandboxes),
      look: sandboxes.look.bind(sandboxes),
      start: mortal('start', sandboxes.start.bind(sandboxes)),
      stop: mortal('stop', sandboxes.stop.bind(sandboxes)),
      writeLease: sandboxes.writeLease.bind(sandboxes),
    },
    slots: new Slots(slots),
    now: () => Date.now(),
    wakeNext: (runId) => woken.push(runId),
    noteSandbox: async () => undefined,
    forget: async () => undefined,
  };
  return { ports, calls: () => calls, woken };
}

const create = (task: string, workspace: WorkspaceInput = { kind: 'local_copy', path: source }): Promise<StreamRef> =>
  runs.create({ task, workspace, runnerDigest });
/** Drives the run and lets `runs` react in turn, until its status is one of those. */
async function driveTo(ports: DrivePorts, stream: StreamRef, ...statuses: string[]): Promise<void> {
  await untilAsync(async () => {
    await driveRun(ports, stream);
    while (await runs.react(stream)) await driveRun(ports, stream);
    return statuses.includes((await runs.state(stream)).status);
  });
}
/** A throw is the crash that a test asked for, so it ends the wait. */
async function untilAsync(look: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 2_400; attempt++) {
    if (await look()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('the run did not get there');
}
const factsOf = (events: readonly TimelineEvent[]): string[] =>
  events.filter(({ actor }) => actor === 'service:scheduler').map(({ type }) => type);
const dirOf = (stream: StreamRef): string => path.join(folder, 'runs', stream.id);
/** Announces itself through the door, changes a file, and stays until it is stopped. */
const agent = (name: string): string => `
  await new Promise((resolve, reject) => require('node:http').get({ socketPath: '/run/gw/control.sock', path: '/${name}/' + secrets.tool }, (r) => r.resume().on('end', resolve)).on('error', reject));
  fs.writeFileSync('/workspace/a.txt', 'new\\n'); hold();`;
const startsOf = (name: string): string[] => fixture.requests.filter((request) => request.startsWith(`control GET /${name}/`));

describe('driving a run', () => {
  it('goes from creation to a collected diff, and leaves nothing behind', async () => {
    const stream = await create(agent('whole'));
    const { ports } = scheduler();
    await driveTo(ports, stream, 'running');
    await until(() => (startsOf('whole').length > 0 ? true : undefined));
    await until(() => (fs.readFileSync(path.join(dirOf(stream), 'workspace/a.txt'), 'utf8') === 'new\n' ? true : undefined));
    await runs.finalize(stream);
    await driveTo(ports, stream, ...terminalStatuses);
    expect(await driveRun(ports, stream)).toBeNull();
    const events = await runs.events(stream);
    expect(factsOf(events)).toEqual(['workspace.initialized', 'sandbox.started', 'sandbox.exited', 'artifact.collected']);
    const exited = events.find(({ type }) => type === 'sandbox.exited');
    expect(exited?.data).toMatchObject({ cause: 'stopped', generation: 1 });
    const collected = events.find((event) => event.type === 'artifact.collected');
    expect(collected?.data).toMatchObject({ files: 1, insertions: 1, deletions: 1, truncated: false });
    expect(artifacts).toEqual([expect.objectContaining({ id: `art_${stream.id}_diff`, sha256: collected?.data.sha256 })]);
    const key = Buffer.from((await runs.runKeys(stream)).rest, 'base64');
    const chunks: Buffer[] = [];
    for await (const chunk of ports.blobs.open(stream.id, key, collected?.data.sha256 ?? '')) chunks.push(chunk);
    const patch = path.join(folder, 'p.patch');
    fs.writeFileSync(patch, Buffer.concat(chunks));
    execFileSync('git', ['apply', '--check', patch], { cwd: source, env: { PATH: '/usr/bin:/bin', GIT_CEILING_DIRECTORIES: fixture.dir } });
    expect(fs.existsSync(dirOf(stream))).toBe(false);
    expect(fs.readFileSync(path.join(source, 'a.txt'), 'utf8')).toBe('old\n');
  });

  it('records an exit with the last words of the runner', async () => {
    const stream = await create(`console.error('cannot go on'); process.exit(7);`);
    const { ports } = scheduler();
    await driveTo(ports, stream, ...terminalStatuses);
    const exited = (await runs.events(stream)).find(({ type }) => type === 'sandbox.exited');
    expect(exited?.data).toMatchObject({ cause: 'exited', exit_code: 7 });
    expect(await runs.content(stream, exited?.seq ?? 0)).toMatchObject({ stderr_tail: expect.stringContaining('cannot go on') });
  });

  it.each([
    ['a workspace that is not allowed', { kind: 'local_copy', path: '/etc' }, runnerDigest, /FLUIDBOX_LOCAL_SOURCES/],
    ['an image that was built anew since', { kind: 'scratch' }, `sha256:${'c'.repeat(64)}`, /create the run again/],
  ] as ReadonlyArray<readonly [string, WorkspaceInput, string, RegExp]>)(
    'fails the run with the reason for %s',
    async (_what, workspace, digest, reason) => {
      const stream = await runs.create({ task: 'hold();', workspace, runnerDigest: digest });
      const { ports } = scheduler();
      await driveTo(ports, stream, ...terminalStatuses);
      const events = await runs.events(stream);
      expect(factsOf(events)).toEqual(['sandbox.exited', 'artifact.missing']);
      const exited = events.find(({ type }) => type === 'sandbox.exited');
      expect(exited?.data).toMatchObject({ cause: 'failed' });
      expect(await runs.content(stream, exited?.seq ?? 0)).toMatchObject({ stderr_tail: expect.stringMatching(reason) });
    },
  );

  it('says that there is no diff, and only in content which file is to blame', async () => {
    const stream = await create(agent('no-diff'));
    const { ports } = scheduler();
    await driveTo(ports, stream, 'running');
    await runs.finalize(stream);
    const diff: DrivePorts['workspaces']['diff'] = async () => {
      throw new Error('canary-dir/x cannot be read');
    };
    await driveTo({ ...ports, workspaces: { ...ports.workspaces, diff } }, stream, ...terminalStatuses);
    const events = await runs.events(stream);
    const missing = events.find(({ type }) => type === 'artifact.missing');
    expect(missing?.data).toEqual({ kind: 'diff', reason: 'the diff could not be made' });
    expect(await runs.content(stream, missing?.seq ?? 0)).toEqual({ detail: 'canary-dir/x cannot be read' });
    expect(JSON.stringify(events)).not.toContain('canary');
  });

  it('says lost when the supervisor was killed, and still collects the diff', async () => {
    const stream = await create(agent('lost'));
    const { ports } = scheduler();
    await driveTo(ports, stream, 'running');
    await until(() => (fs.readFileSync(path.join(dirOf(stream), 'workspace/a.txt'), 'utf8') === 'new\n' ? true : undefined));
    const sandbox = ports.sandboxes.look({ runDir: dirOf(stream), uid: null });
    if (sandbox.status === 'live') killProcess(sandbox.pid);
    await driveTo(ports, stream, ...terminalStatuses);
    const events = await runs.events(stream);
    expect(events.find(({ type }) => type === 'sandbox.exited')?.data).toMatchObject({ cause: 'lost' });
    expect(events.find(({ type }) => type === 'artifact.collected')?.data).toMatchObject({ files: 1 });
  });

  it('writes each new lease where the supervisor reads it', async () => {
    const stream = await create(agent('lease'));
    const { ports } = scheduler();
    await driveTo(ports, stream, 'running');
    const valid = await runs.extendLease(stream, 30);
    await driveRun(ports, stream);
    expect(JSON.parse(fs.readFileSync(path.join(dirOf(stream), 'lease.json'), 'utf8'))).toEqual({
      generation: 1,
      valid_until: valid,
      stop: false,
    });
    await runs.finalize(stream);
    await driveTo(ports, stream, ...terminalStatuses);
  });

  it('waits for a database that is away when the sandbox already stands, and adopts it', async () => {
    const stream = await create(agent('away'));
    const { ports } = scheduler();
    let away = true;
    const flaky: DrivePorts = {
      ...ports,
      ledger: {
        ...ports.ledger,
        record: async (on, drafts, options) => {
          if (away && drafts.some(({ type }) => type === 'sandbox.started')) throw new Error('the database is away');
          return ports.ledger.record(on, drafts, options);
        },
      },
    };
    await expect(driveTo(flaky, stream, 'running')).rejects.toThrow('the database is away');
    away = false;
    await driveTo(flaky, stream, 'running');
    await until(() => (startsOf('away').length > 0 ? true : undefined));
    await runs.finalize(stream);
    await driveTo(ports, stream, ...terminalStatuses);
    expect(factsOf(await runs.events(stream))).toEqual([
      'workspace.initialized',
      'sandbox.started',
      'sandbox.exited',
      'artifact.collected',
    ]);
    expect(startsOf('away')).toEqual(['control GET /away/tool-1']);
  });

  it('stops preparing when the run is cancelled meanwhile, and starts no agent', async () => {
    const stream = await create(agent('cancelled'));
    const { ports } = scheduler();
    const slow: DrivePorts = {
      ...ports,
      workspaces: {
        ...ports.workspaces,
        prepare: (_place, _input, _put, signal) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      },
    };
    const driven = driveRun(slow, stream);
    await untilAsync(async () => (await runs.state(stream)).status === 'provisioning');
    await runs.finalize(stream);
    await driven;
    await driveTo(ports, stream, ...terminalStatuses);
    expect(factsOf(await runs.events(stream))).toEqual(['sandbox.exited', 'artifact.missing']);
    expect(startsOf('cancelled')).toEqual([]);
  });

  it('keeps the next run waiting while the slots are taken', async () => {
    const { ports, woken } = scheduler({ slots: 1 });
    const first = await create(agent('first'));
    const second = await create(agent('second'));
    await driveTo(ports, first, 'running');
    await driveRun(ports, second);
    expect((await runs.state(second)).status).toBe('created');
    await runs.finalize(first);
    await driveTo(ports, first, ...terminalStatuses);
    await driveRun(ports, first);
    expect(woken).toContain(second.id);
    await driveTo(ports, second, 'running');
    await runs.finalize(second);
    await driveTo(ports, second, ...terminalStatuses);
  });
});

describe('a scheduler that is killed', () => {
  it('[RECOVERY-1] at any step and starts again finishes the run, with one agent and each fact once', async () => {
    for (let crashAfter = 1; ; crashAfter++) {
      const name = `crash-${crashAfter}`;
      const stream = await create(agent(name));
      const first = scheduler({ crashAfter });
      let crashed = false;
      const attempt = async (ports: DrivePorts): Promise<void> => {
        await driveTo(ports, stream, 'running', ...terminalStatuses);
        await until(() => (startsOf(name).length > 0 ? true : undefined));
        await runs.finalize(stream);
        await driveTo(ports, stream, ...terminalStatuses);
        await driveRun(ports, stream);
      };
      try {
        await attempt(first.ports);
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
        crashed = true;
      }
      if (crashed) await attempt(scheduler().ports);
      const events = await runs.events(stream);
      const last = first.calls().at(-1);
      expect([last, factsOf(events)]).toEqual([last, ['workspace.initialized', 'sandbox.started', 'sandbox.exited', 'artifact.collected']]);
      expect([last, startsOf(name).length]).toEqual([last, 1]);
      expect(fs.existsSync(dirOf(stream))).toBe(false);
      if (!crashed) return expect(crashAfter).toBeGreaterThan(10);
    }
  });
});

describe('starting with what is there', () => {
  it('knows only the folders of its own deployment', () => {
    const mine = new RunPlaces(path.join(folder, 'runs'), 'mine', null);
    const other = new RunPlaces(path.join(folder, 'runs'), 'other', null);
    const stream = { category: 'run', id: '0198b3a0-0000-7000-8000-000000000001', org: 'default' } as const;
    mine.take(stream);
    expect(mine.runs()).toEqual([stream]);
    expect(other.runs()).toEqual([]);
    expect(other.find(stream)).toBeNull();
  });

  it('clears a folder whatever an agent left in it', async () => {
    const places = new RunPlaces(path.join(folder, 'runs'), 'test', null);
    const stream = { category: 'run', id: '0198b3a0-0000-7000-8000-000000000002', org: 'default' } as const;
    const { runDir } = places.take(stream);
    execFileSync(
      'bash',
      [
        '-c',
        'for i in $(seq 190); do mkdir aaaaaaaaaaaaaaaaaaaaaaaa && cd aaaaaaaaaaaaaaaaaaaaaaaa; done; touch deep; cd /; chmod 000 "$0"/aaaaaaaaaaaaaaaaaaaaaaaa; ln -s /etc "$0"/etc',
        runDir,
      ],
      { cwd: runDir },
    );
    await places.clear(stream);
    expect(fs.existsSync(runDir)).toBe(false);
    expect(fs.existsSync('/etc/passwd')).toBe(true);
  });
});
