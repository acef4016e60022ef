import { type Facade, type Provider, sse, startFacade, startProvider } from './testing/facade-fixture';
import { answerOf, type SaidCall, type Talk, talks } from './testing/talk';

/** Each harness with its model: what an honest runner does, and what one does whose interception leaks in one way. */
describe.each(talks.map((talk) => [talk.name, talk] as const))('[COVERAGE-1] [COVERAGE-2] in %s', (_name, talk) => {
  let provider: Provider;
  let facade: Facade;
  const start = async (change?: Parameters<Talk['spec']>[0]): Promise<void> => {
    facade = await startFacade(provider.url, { spec: talk.spec(change) });
  };
  const speaks = (text: string, { cut = false } = {}): void =>
    provider.answers((_request, _body, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (cut) response.write(text, () => response.destroy());
      else response.end(text);
    });
  const post = (...asked: Parameters<Talk['ask']>) => facade.post(talk.ask(...asked), { path: talk.path });
  /** One answer of the model with these calls, read to its end. */
  const model = async (...calls: SaidCall[]): Promise<void> => {
    speaks(answerOf(talk, calls));
    await (await post()).text();
  };
  const asks = (call: SaidCall, verdict: 'allow' | 'deny' = 'allow', id = call.id): Promise<void> => {
    const { tool, input } = talk.judged(call);
    return facade.gateDecides(id, verdict, input, tool);
  };
  const brings = async (...ids: string[]): Promise<number> => {
    speaks(answerOf(talk, []));
    const response = await post(ids.map((id) => ({ id })));
    await response.text();
    return response.status;
  };
  const gaps = async () => (await facade.events()).filter(({ type }) => type === 'coverage.gap').map(({ data }) => data);

  beforeEach(async () => {
    provider = await startProvider();
  });
  afterEach(async () => {
    await facade.stop();
    await provider.close();
  });

  const one: SaidCall = { id: 'call_1' };
  const two: SaidCall = { id: 'call_2', command: 'cat a' };
  const write: SaidCall = { id: 'call_3', file: '/workspace/a.txt' };

  it('an honest run is covered: commands, files, calls beside each other, a denial, a refusal by the harness itself', async () => {
    await start();
    await model(one, two, write);
    for (const call of [one, two, write]) await asks(call);
    expect(await brings('call_1', 'call_2', 'call_3')).toBe(200);
    await model({ id: 'call_4' }, { id: 'call_5' });
    await asks({ id: 'call_4' }, 'deny');
    speaks(answerOf(talk, []));
    const told = await post([
      { id: 'call_4', text: 'denied', isError: true },
      { id: 'call_5', ...talk.refused },
    ]);
    expect(told.status).toBe(200);
    expect(await facade.events()).toContainEqual(
      expect.objectContaining({
        type: 'model.tool_call_closed',
        data: expect.objectContaining({ tool_call_id: 'call_5', class: 'rejected_by_harness' }),
      }),
    );
    expect(await gaps()).toEqual([]);
  });

  it.each<[string, readonly SaidCall[], (() => Promise<void>) | null]>([
    ['a call that nobody decided', [one], null],
    ['one of two calls beside each other', [one, two], () => asks(two)],
    ['another command under the same id', [one], () => asks({ ...one, command: 'ls -l' })],
    ['another file under the same id', [write], () => asks({ ...write, file: '/workspace/.git/hooks/a' })],
    ['a file where the model wrote a command', [one], () => asks({ ...write, id: 'call_1' })],
    [
      'a decision on the call beside it',
      [one, two],
      async () => {
        await asks(two);
        await asks(one, 'allow', 'call_0');
      },
    ],
  ])('%s is found with the next request', async (_what, calls, gate) => {
    await start();
    await model(...calls);
    await gate?.();
    expect(await brings(...calls.map(({ id }) => id))).toBe(403);
    expect(await gaps()).toMatchObject([{ tool_call_id: calls[0]?.id, class: 'uncovered' }]);
    expect((await post()).status).toBe(403);
  });

  it('another call under an id that was used is a gap at once, in the same answer or a later one', async () => {
    await start();
    await model(one, { ...two, id: 'call_1' });
    await facade.idle();
    expect(await gaps()).toMatchObject([{ tool_call_id: 'call_1', class: 'uncovered' }]);
    expect((await post()).status).toBe(403);
    await facade.stop();
    await start();
    await model(one);
    await asks(one);
    await model({ ...two, id: 'call_1' });
    await facade.idle();
    expect(await gaps()).toHaveLength(1);
    expect((await post()).status).toBe(403);
  });

  it('the same call again under its id says nothing new', async () => {
    await start();
    await model(one);
    await asks(one);
    await model(one);
    expect(await brings('call_1')).toBe(200);
  });

  it('a call of an answer that broke off counts', async () => {
    await start();
    speaks(sse(talk.said([one])), { cut: true });
    await post()
      .then((response) => response.text())
      .catch(() => undefined);
    await facade.idle();
    expect(await brings('call_1')).toBe(403);
    expect(await gaps()).toMatchObject([{ tool_call_id: 'call_1' }]);
  });

  it('a runner that hangs up behind the last argument has seen the call, and is held to its words', async () => {
    await start();
    for (const [call, judged, status] of [
      [one, one, 200],
      [write, write, 200],
      [{ ...two, command: 'rm x' }, two, 403],
    ] as const) {
      speaks(sse(talk.unfinished(call)), { cut: true });
      await post()
        .then((response) => response.text())
        .catch(() => undefined);
      await facade.idle();
      await asks(judged);
      expect(await brings(call.id)).toBe(status);
    }
  });

  it.each(talk.providerItems)('%s is run by the provider: it ends the answer and the access', async (_type, events) => {
    await start();
    speaks(sse([...talk.said([]), ...events, ...talk.end([])]));
    const received = await post()
      .then((response) => response.text())
      .catch(() => 'cut');
    await facade.idle();
    expect(received).toBe('cut');
    expect(await gaps()).toMatchObject([{ tool_call_id: 'srv_1', class: 'provider_executed' }]);
    expect((await post()).status).toBe(403);
  });

  it.each(talk.droppedItems)('%s that was not offered never reaches the runner', async (_what, tool, events) => {
    await start();
    speaks(sse([...talk.said([]), ...events, ...talk.end([])]));
    const received = await post([], ['Bash', 'WebFetch', 'js'])
      .then((response) => response.text())
      .catch(() => 'cut');
    await facade.idle();
    expect(received).toBe('cut');
    expect(JSON.stringify(provider.seen[0]?.body.tools ?? [])).not.toMatch(/WebFetch|js|open/);
    expect(await gaps()).toMatchObject([{ tool_call_id: 'call_9', tool, class: 'uncovered' }]);
  });

  it('under strict a refusal by the harness ends the run as well; under report nothing does', async () => {
    await start({ coverage: 'strict' });
    await model(one);
    speaks(answerOf(talk, []));
    expect((await post([{ id: 'call_1', ...talk.refused }])).status).toBe(403);
    await facade.stop();
    await start({ coverage: 'report' });
    await model(one);
    expect(await brings('call_1')).toBe(200);
    expect(await gaps()).toMatchObject([{ class: 'uncovered', report_only: true }]);
  });

  it('a call under an id that no gate takes can never be decided, so its result ends the run', async () => {
    await start();
    await model({ id: 'call 1' });
    expect(await brings('call 1')).toBe(403);
    expect(await gaps()).toMatchObject([{ tool_call_id: expect.stringMatching(/^unusable:/), class: 'uncovered' }]);
  });

  it('arguments that nobody can walk are booked as the text that they are, and their answer reaches the runner', async () => {
    await start();
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    speaks(answerOf(talk, [one]).replaceAll(JSON.stringify(JSON.stringify(talk.written(one))), JSON.stringify(`{"x":${deep}}`)));
    expect(await (await post()).text()).toContain('[[[[');
    expect(await facade.types()).toContain('budget.settled');
    expect(facade.problems).toEqual([]);
    expect(await brings('call_1')).toBe(403);
  });

  it('a request that nobody can walk is refused by name, and nothing is sent', async () => {
    await start();
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const body = JSON.stringify(talk.ask()).replace('"hi"', deep);
    const refused = await facade.post(body, { path: talk.path });
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('nested too deeply')]);
    expect(provider.seen).toEqual([]);
  });

  it('a result of an id that the model never gave stands for nothing', async () => {
    await start();
    await model(one);
    await asks(one);
    expect(await brings('call_of_another_run', 'call_1')).toBe(200);
  });
});
