import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type ServiceName, serviceNames } from '@fluidbox/contracts';
import { isAlive } from '@fluidbox/tooling/identity';
import { freePort } from './free-port';
import { homeLayout } from './layout';
import { secretFiles } from './secrets';
import type { DeploymentFacts } from './service-environment';
import { endServiceOrphans, startServiceProcesses } from './service-processes';

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-services-'));
afterAll(() => fs.rmSync(home, { recursive: true, force: true }));

const entryOf = (name: ServiceName) => [path.join(__dirname, 'fixtures/service.fixture.cjs'), name];
const facts = async (caller: Record<string, string> = {}): Promise<DeploymentFacts> => {
  const layout = homeLayout(home);
  const ports = { public: await freePort(), control: 0, llm: 0, nats: 0, postgres: 0 };
  return {
    layout,
    secrets: secretFiles(layout.secrets),
    ports,
    deploymentId: 'd',
    providerKeys: { anthropic: false, openai: false },
    caller: { PATH: process.env.PATH, ...caller },
  };
};
const identities = (services: { processes(): { pid: number; started: string }[] }) =>
  services.processes().map(({ pid, started }) => ({ pid, startTime: started }));

describe('services as processes', () => {
  it('are all ready when the start ends, and gone after the stop', async () => {
    const services = await startServiceProcesses(
      await facts(),
      () => undefined,
      () => undefined,
      entryOf,
    );
    expect(services.processes().map(({ name }) => name)).toEqual(serviceNames);
    const all = identities(services);
    expect(all.every(isAlive)).toBe(true);
    await services.stop();
    expect(all.some(isAlive)).toBe(false);
    expect(await endServiceOrphans(homeLayout(home))).toEqual([]);
  });

  it('one that is killed is started again under the same name, the others stay', async () => {
    let changed: () => void = () => undefined;
    const change = new Promise<void>((resolve) => {
      changed = resolve;
    });
    const services = await startServiceProcesses(
      await facts(),
      () => changed(),
      () => undefined,
      entryOf,
    );
    const before = services.processes();
    const victim = before.find(({ name }) => name === 'gate');
    process.kill(victim?.pid ?? 0, 'SIGKILL');
    await change;
    const after = services.processes();
    const moved = after.filter(({ pid }, at) => pid !== before[at]?.pid).map(({ name }) => name);
    expect(moved).toEqual(['gate']);
    expect(identities(services).every(isAlive)).toBe(true);
    await services.stop();
  });

  it('one that does not start ends the others and says what its log says', async () => {
    const start = startServiceProcesses(
      await facts({ FLUIDBOX_LOG_LEVEL: 'approvals' }),
      () => undefined,
      () => undefined,
      entryOf,
    );
    await expect(start).rejects.toThrow(/approvals ended at its start \(exit 3\).*no such level. Fix: unset it/s);
    expect(await endServiceOrphans(homeLayout(home))).toEqual([]);
  });

  it('that were left behind are ended by name', async () => {
    const services = await startServiceProcesses(
      await facts(),
      () => undefined,
      () => undefined,
      entryOf,
    );
    const left = identities(services);
    // What a killed parent leaves: the processes and their pid files.
    const files = serviceNames.map((name) => path.join(homeLayout(home).pids, `${name}.json`));
    const kept = files.map((file) => fs.readFileSync(file));
    const ended = endServiceOrphans(homeLayout(home));
    const stopped = services.stop();
    expect([...(await ended)].sort()).toEqual([...serviceNames].sort());
    await stopped;
    expect(left.some(isAlive)).toBe(false);
    // The same pid files again, now of processes that are gone: nothing is ended.
    for (const [at, file] of files.entries()) fs.writeFileSync(file, kept[at] ?? '');
    expect(await endServiceOrphans(homeLayout(home))).toEqual([]);
  });
});
