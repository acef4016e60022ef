import path from 'node:path';
import { readScriptFile, type ScriptedModel, startScriptedModel } from '@fluidbox/testing/model';
import { missingKey, withModel } from './stand-in-model';

const script = readScriptFile(path.join(__dirname, '../demo/model.json'));

describe('the stand-in model', () => {
  let model: ScriptedModel;
  beforeAll(async () => {
    model = await startScriptedModel({ script });
  });
  afterAll(() => model.close());

  async function answer(content: string, more: Record<string, unknown> = { tools: [{ name: 'Bash' }] }) {
    const response = await fetch(`${model.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': 'any', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content }], ...more }),
    });
    return { status: response.status, body: (await response.json()) as { error?: { message: string }; content?: unknown[] } };
  }

  it('refuses every task but that of the demo, and says what to do', async () => {
    const { status, body } = await answer('Write a poem.');
    expect(status).toBe(400);
    expect(body.error?.message).toMatch(/no model key is set.*set ANTHROPIC_API_KEY and start the stack again/);
  });

  it('plays the demo, and answers the side questions of a harness', async () => {
    expect((await answer('A test of this repository fails. Find out why.')).body.content).toHaveLength(3);
    expect((await answer('Give this conversation a title.', {})).status).toBe(200);
  });

  it('plays it on the wire of the other provider, with that harness’s tools', async () => {
    const ask = (content: string) =>
      fetch(`${model.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', input: content, tools: [{ type: 'function', name: 'exec_command' }] }),
      });
    const played = (await (await ask('A test of this repository fails. Find out why.')).json()) as { output: { name?: string }[] };
    expect(played.output.map(({ name }) => name)).toEqual([undefined, 'exec_command', 'exec_command']);
    const refused = await ask('Write a poem.');
    expect(refused.status).toBe(400);
    expect(((await refused.json()) as { error: { message: string } }).error.message).toContain('set OPENAI_API_KEY');
  });
});

describe('whose model answers', () => {
  const none = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '' };
  it.each([
    [none, 'claude-agent-sdk', 'ANTHROPIC_API_KEY'],
    [none, 'codex', 'OPENAI_API_KEY'],
    [{ ...none, OPENAI_API_KEY: 'k' }, 'codex', null],
    [{ ...none, FLUIDBOX_OPENAI_URL: 'http://h' }, 'codex', null],
    [{ ...none, ANTHROPIC_API_KEY: 'k' }, 'codex', 'OPENAI_API_KEY'],
    [none, 'scripted', null],
  ] as const)('%j %s', (environment, harness, key) => expect(missingKey(environment, harness)).toBe(key));

  it.each([
    [none, 'codex', ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY']],
    [none, undefined, ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY']],
    [{ ...none, ANTHROPIC_API_KEY: 'k' }, 'codex', ['OPENAI_API_KEY']],
    [{ ...none, ANTHROPIC_API_KEY: 'k' }, 'claude-agent-sdk', []],
    [{ ...none, ANTHROPIC_API_KEY: 'k' }, undefined, []],
  ] as const)('stands in for what is missing: %j %s', async (environment, harness, stoodIn) => {
    const seen: Readonly<Record<string, string | undefined>> = await withModel(environment, async (given) => given, harness);
    expect(['ANTHROPIC_API_KEY', 'OPENAI_API_KEY'].filter((key) => seen[key] === 'scripted-stand-in')).toEqual(stoodIn);
  });
});
