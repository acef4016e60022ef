import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { natsPermissions } from '@fluidbox/contracts';
import { testServiceUrl } from '@fluidbox/event-store';
import { generateKekFile, generateSigningKeyFiles } from '@fluidbox/seal';
import { type RunningService, type ServiceContext, startService } from '@fluidbox/service-kit';
import { startTestNats, startTestPostgres, type TestNats, type TestPostgres } from '@fluidbox/testing';
import { openRuns } from './adapters/open-runs';
import { definition } from './service';

describe('the service on a real stack', () => {
  let folder: string;
  let postgres: TestPostgres;
  let nats: TestNats;
  let service: RunningService | undefined;
  let context: ServiceContext | undefined;

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-facade-'));
    const file = (name: string): string => path.join(folder, name);
    postgres = await startTestPostgres();
    nats = await startTestNats({ users: [{ user: 'llm-facade', password: 'pw', permissions: natsPermissions('llm-facade') }] });
    const database = await postgres.createDatabase({ migrated: true });
    const secrets = {
      database_url: testServiceUrl(database.url, 'llm-facade'),
      nats_url: nats.url,
      nats_user: 'llm-facade',
      nats_password: 'pw',
    };
    fs.writeFileSync(file('secrets.json'), JSON.stringify(secrets), { mode: 0o600 });
    fs.writeFileSync(file('provider-key'), 'key\n', { mode: 0o600 });
    generateKekFile(file('kek'));
    generateSigningKeyFiles(file('token-key.pem'), file('token-keys.json'));
    service = await startService(
      {
        ...definition,
        module: (given, config) => {
          context = given;
          return definition.module(given, config);
        },
      },
      {
        FLUIDBOX_SECRETS_FILE: file('secrets.json'),
        FLUIDBOX_KEK_FILE: file('kek'),
        FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: file('token-keys.json'),
        FLUIDBOX_ANTHROPIC_KEY_FILE: file('provider-key'),
        FLUIDBOX_LLM_PORT: '0',
        FLUIDBOX_LOG_LEVEL: 'silent',
      },
    );
  });
  afterAll(async () => {
    await service?.stop();
    await nats.stop();
    await postgres.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  it('is ready, and refuses a request without a token in the dialect', async () => {
    expect((await fetch(`${service?.url}/readyz`)).status).toBe(200);
    const response = await fetch(`${service?.url}/internal/llm/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":',
    });
    expect([response.status, await response.json()]).toMatchObject([401, { type: 'error', error: { type: 'authentication_error' } }]);
  });

  it('may read which runs are open, with its own database role', async () => {
    if (context === undefined) throw new Error('the service was not started');
    expect(await openRuns(context.sql)).toEqual([]);
  });
});
