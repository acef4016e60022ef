import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { type ControlPlane, launchInSandbox, newRunFolder, type RunFolder, readRunnerImage, startControlPlane } from './testing';

jest.setTimeout(60_000);

const packageDir = path.resolve(__dirname, '..');
let folder: RunFolder;
let control: ControlPlane;
let model: http.Server;

beforeAll(() => {
  execFileSync(process.execPath, [path.join(packageDir, 'bundle.mjs')]);
});
beforeEach(() => {
  folder = newRunFolder();
});
afterEach(async () => {
  await control.close();
  model.close();
  model.closeAllConnections();
  folder.remove();
});

/** A runner that knows the contract and nothing of this library. */
const program = `
  const tokens = JSON.parse(require('node:fs').readFileSync(3, 'utf8'));
  const env = process.env;
  const base = env.FLUIDBOX_CONTROL_URL + '/internal/sessions/' + env.FLUIDBOX_SESSION_ID;
  const post = async (url, token, body) => {
    const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' };
    return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  };
  (async () => {
    await post(base + '/heartbeat', tokens.control, {});
    const answer = await post(base + '/permission', tokens.tool, { tool_call_id: 'c1', tool: 'Bash', input: { command: 'true' } });
    const forwarded = await post(env.ANTHROPIC_BASE_URL + '/v1/messages', env.ANTHROPIC_API_KEY, {});
    const direct = await post(env.FLUIDBOX_LLM_URL + '/internal/llm/v1/messages', tokens.llm, {});
    const summary = [answer.decision, forwarded.said, direct.said, env.FLUIDBOX_TASK].join(' ');
    await post(base + '/result', tokens.control, { outcome: 'completed', summary });
  })();
`;

describe('the entry wrapper for a foreign runner', () => {
  it('gives it loopback URLs, its tokens and a model door that adds the token', async () => {
    model = http.createServer((_request, response) => response.writeHead(200).end('{"said":"hello"}')).listen(0, '127.0.0.1');
    // As a real provider's, its idle connections outlive a pause of a busy machine.
    model.keepAliveTimeout = 0;
    await once(model, 'listening');
    const address = model.address();
    const modelUrl = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
    control = await startControlPlane({
      gatewayDir: folder.gatewayDir,
      ownerUid: folder.uid,
      modelUrl,
      decide: () => ({ decision: 'allow' }),
    });
    const file = path.join(folder.dir, 'foreign.js');
    fs.writeFileSync(file, program);
    const image = { ...readRunnerImage(path.join(packageDir, 'dist')), binds: [{ src: file, dest: '/opt/foreign.js' }] };
    const { exitCode, output } = await launchInSandbox({
      folder,
      image,
      control,
      task: 'say it',
      args: ['/opt/node', '/opt/foreign.js'],
    });
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: '' });
    expect(control.results).toEqual([{ outcome: 'completed', summary: 'allow hello hello say it' }]);
    expect(control.asked).toHaveLength(1);
  });
});
