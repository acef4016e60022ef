import path from 'node:path';
import { readScriptFile, type ScriptedModel, startScriptedModel } from '@fluidbox/testing/model';

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
});
