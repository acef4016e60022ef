import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { sandboxScene } from './testing';

const scene = sandboxScene(path.resolve(__dirname, '..'));
let model: http.Server;
afterEach(() => {
  model.close();
  model.closeAllConnections();
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
    const said = (answer) => answer.said ?? JSON.stringify(answer);
    const summary = [answer.decision, said(forwarded), said(direct), env.FLUIDBOX_TASK].join(' ');
    await post(base + '/result', tokens.control, { outcome: 'completed', summary });
  })();
`;

describe('the entry wrapper for a foreign runner', () => {
  it('gives it loopback URLs, its tokens and a model door that adds the token', async () => {
    model = http.createServer((request, response) => {
      request.resume().once('end', () => response.writeHead(200).end('{"said":"hello"}'));
    });
    model.listen(0, '127.0.0.1');
    // As a real provider's, its idle connections outlive a pause of a busy machine.
    model.keepAliveTimeout = 0;
    await once(model, 'listening');
    const address = model.address();
    const modelUrl = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
    const file = path.join(scene.folder.dir, 'foreign.js');
    fs.writeFileSync(file, program);
    const { exitCode, output } = await scene.run('say it', {
      plane: { modelUrl },
      launch: { image: { ...scene.image(), binds: [{ src: file, dest: '/opt/foreign.js' }] }, args: ['/opt/node', '/opt/foreign.js'] },
    });
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: '' });
    expect(scene.control.results).toEqual([{ outcome: 'completed', summary: 'allow hello hello say it' }]);
    expect(scene.control.asked).toHaveLength(1);
  });
});
