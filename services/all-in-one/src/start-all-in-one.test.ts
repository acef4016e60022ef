import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { natsPermissions, serviceNames } from '@fluidbox/contracts';
import { testServiceUrl } from '@fluidbox/event-store';
import { generateKekFile, generateSigningKeyFiles, writeSecretFile } from '@fluidbox/seal';
import type { Environment } from '@fluidbox/service-kit';
import { startTestNats, startTestPostgres, type TestNats, type TestPostgres } from '@fluidbox/testing';
import { startAllInOne } from './start-all-in-one';

describe('all services in one process', () => {
  let postgres: TestPostgres;
  let nats: TestNats;
  let folder: string;
  let environment: Environment;

  beforeAll(async () => {
    postgres = await startTestPostgres();
    nats = await startTestNats({ users: serviceNames.map((user) => ({ user, password: 'pw', permissions: natsPermissions(user) })) });
    const database = await postgres.createDatabase({ migrated: true });
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-all-'));
    const at = (name: string) => path.join(folder, name);
    for (const name of serviceNames) {
      const secrets = { database_url: testServiceUrl(database.url, name), nats_url: nats.url, nats_user: name, nats_password: 'pw' };
      writeSecretFile(at(`${name}.json`), JSON.stringify(secrets));
    }
    generateKekFile(at('kek'));
    generateKekFile(at('delivery-key'));
    generateSigningKeyFiles(at('token-key.pem'), at('token-keys.json'));
    generateSigningKeyFiles(at('ledger-key.pem'), at('ledger-keys.json'));
    writeSecretFile(at('admin-token'), `fbx_test_${'a'.repeat(40)}`);
    environment = {
      FLUIDBOX_SECRETS_DIR: folder,
      FLUIDBOX_HOME: at('home'),
      FLUIDBOX_DEPLOYMENT_ID: 'test',
      FLUIDBOX_KEK_FILE: at('kek'),
      FLUIDBOX_TOKEN_KEY_FILE: at('token-key.pem'),
      FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: at('token-keys.json'),
      FLUIDBOX_DELIVERY_KEY_FILE: at('delivery-key'),
      FLUIDBOX_LEDGER_KEY_FILE: at('ledger-key.pem'),
      FLUIDBOX_LEDGER_PUBLIC_KEYS_FILE: at('ledger-keys.json'),
      FLUIDBOX_ADMIN_TOKEN_FILE: at('admin-token'),
      FLUIDBOX_PUBLIC_PORT: '0',
      FLUIDBOX_CONTROL_PORT: '0',
      FLUIDBOX_LLM_PORT: '0',
      FLUIDBOX_UP_FILE: at('up.json'),
      FLUIDBOX_BLOBS_DIR: at('blobs'),
      FLUIDBOX_RUNS_DIR: at('runs'),
      FLUIDBOX_LOG_LEVEL: 'silent',
      PATH: process.env.PATH,
    };
  });
  afterAll(async () => {
    await nats.stop();
    await postgres.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  const alive = (url: string): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      (response) => response.status === 200,
      () => false,
    );

  it('starts every service, with a listener for each plane, and stops all of them', async () => {
    const running = await startAllInOne(environment);
    expect(running.services.map(({ name }) => name).sort()).toEqual([...serviceNames].sort());
    const urls = running.services.flatMap(({ name, url }) => (url === null ? [] : [{ name, url }]));
    expect(urls.map(({ name }) => name)).toEqual(['llm-facade', 'runner-gateway', 'gateway']);
    expect(await Promise.all(urls.map(({ url }) => alive(url)))).toEqual([true, true, true]);
    await running.stop();
    expect(await Promise.all(urls.map(({ url }) => alive(url)))).toEqual([false, false, false]);
  });

  it('gives no plane the routes of another', async () => {
    const running = await startAllInOne(environment);
    const statusOf = async (service: string, route: string) => {
      const url = running.services.find(({ name }) => name === service)?.url;
      return (await fetch(`${url}${route}`)).status;
    };
    expect([await statusOf('gateway', '/v1/health'), await statusOf('runner-gateway', '/v1/health')]).toEqual([200, 404]);
    expect(await statusOf('gateway', '/internal/sessions/x/workspace')).toBe(404);
    expect(await statusOf('runner-gateway', '/internal/sessions/x/workspace')).toBe(401);
    await running.stop();
  });

  it('stops what it had started when one service cannot start, and says which', async () => {
    const { FLUIDBOX_ADMIN_TOKEN_FILE: _, ...incomplete } = environment;
    await expect(startAllInOne(incomplete)).rejects.toThrow(/gateway is not configured:\n {2}FLUIDBOX_ADMIN_TOKEN_FILE/);
    const running = await startAllInOne(environment);
    await running.stop();
  });
});
