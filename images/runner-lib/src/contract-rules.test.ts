import { forwardedHeaders, forwardedPath, readRefusal } from './forward-rules';
import { readPermissionReply } from './permission-answer';
import * as checks from './probe-checks';
import { Quiesce } from './quiesce';
import { type Attempt, callBackoffMs, judge, permissionBackoffMs } from './retry-policy';
import { parseSecrets, readRunnerInput, takeRunnerSecrets } from './runner-input';

const answered = (status: number, body = ''): Attempt => ({ kind: 'answered', reply: { status, body } });

describe('the retry table', () => {
  it.each([408, 425, 429, 500, 502, 503, 504])('repeats %d', (status) => {
    expect(judge(answered(status))).toBe('retry');
  });
  it.each([200, 400, 401, 403, 404, 409, 413, 422])('takes %d as final', (status) => {
    expect(judge(answered(status))).toBe('final');
  });
  it('repeats what never got through', () => {
    expect(judge({ kind: 'failed', reason: 'ECONNREFUSED' })).toBe('retry');
  });
  it.each([401, 403])('tells a wrong audience in a %d from any other refusal', (status) => {
    expect(judge(answered(status, '{"error":"wrong_audience"}'))).toBe('wrong_audience');
    expect(judge(answered(status, '{"error":"unauthorized"}'))).toBe('final');
  });
  it('does not take the word wrong_audience elsewhere for an abort', () => {
    expect(judge(answered(200, 'wrong_audience'))).toBe('final');
  });
  it('waits longer, up to its cap', () => {
    expect([1, 2, 3, 4, 9].map(callBackoffMs)).toEqual([2_000, 4_000, 6_000, 8_000, 8_000]);
    expect(permissionBackoffMs(1)).toBeLessThan(1_000);
    expect(permissionBackoffMs(1_000)).toBe(10_000);
  });
});

describe('an answer of the gate', () => {
  it('allows only on a clear allow', () => {
    expect(readPermissionReply({ status: 200, body: '   {"decision":"allow"}' })).toEqual({ decision: 'allow' });
    expect(readPermissionReply({ status: 200, body: '{"decision":"allow","updated_input":{"a":1}}' })).toEqual({
      decision: 'allow',
      updated_input: { a: 1 },
    });
  });
  it.each([
    ['{"decision":"maybe"}', 200],
    ['{"decision":"allow","extra":1}', 200],
    ['{"verdict":"allow"}', 200],
    ['<html>', 200],
    ['[]', 200],
    ['null', 200],
    ['{"decision":"allow"}', 201],
    ['{"decision":"allow"}', 401],
    ['{"decision":"allow"}', 403],
    ['{"error":"stale_lease"}', 409],
    ['{"code":"validation"}', 422],
  ])('denies on %s with %d', (body, status) => {
    expect(readPermissionReply({ status, body })).toMatchObject({ decision: 'deny' });
  });
  it('asks again when there was only padding', () => {
    expect(readPermissionReply({ status: 200, body: '    ' })).toBe('retry');
  });
});

describe('quiesce', () => {
  it('fires once, also for a listener that comes late', () => {
    const quiesce = new Quiesce();
    const early = jest.fn();
    const late = jest.fn();
    quiesce.onQuiesce(early);
    quiesce.latch('first');
    quiesce.latch('second');
    quiesce.onQuiesce(late);
    expect(early.mock.calls).toEqual([['first']]);
    expect(late.mock.calls).toEqual([['first']]);
  });
});

describe('the hand-off of tokens', () => {
  const line = { tool: 't', control: 'c', llm: 'l' };
  const env = { FLUIDBOX_SESSION_ID: 's', FLUIDBOX_CONTROL_URL: 'unix:/run/gw/control.sock' };

  it.each(['', '{', '{"tool":"t"}', '[]', '{"tool":"SECRET","control":"c","llm":1}'])(
    'ends with 4, without repeating it, on the line %s',
    (text) => {
      expect(() => parseSecrets(text)).toThrow(expect.objectContaining({ exitCode: 4, message: expect.not.stringContaining('SECRET') }));
    },
  );
  it('ends with 2 when the descriptor is not named, with 4 when it is not there', () => {
    expect(() => takeRunnerSecrets({})).toThrow(expect.objectContaining({ exitCode: 2, message: 'FLUIDBOX_TOKENS_FD is not set' }));
    expect(() => takeRunnerSecrets({ FLUIDBOX_TOKENS_FD: '987654' })).toThrow(expect.objectContaining({ exitCode: 4 }));
  });
  it('prefers the task of the line and falls back to the variable', () => {
    expect(readRunnerInput({ ...line, task: 'from the line' }, { ...env, FLUIDBOX_TASK: 'from the variable' }).task).toBe('from the line');
    expect(readRunnerInput({}, { ...env, FLUIDBOX_TASK: 'from the variable' }).task).toBe('from the variable');
  });
  it.each([
    ['FLUIDBOX_SESSION_ID', undefined],
    ['FLUIDBOX_CONTROL_URL', undefined],
    ['FLUIDBOX_CONTROL_URL', 'ftp://x'],
    ['FLUIDBOX_TRUST_TIER', 'root'],
    ['FLUIDBOX_MAX_TURNS', '-1'],
  ])('ends with 2 and names %s when it is %s', (name, value) => {
    const read = () => readRunnerInput({ task: 'x' }, { ...env, [name]: value });
    expect(read).toThrow(expect.objectContaining({ exitCode: 2, message: expect.stringContaining(name) }));
  });
});

describe('the forwarder', () => {
  it.each([
    ['/v1/messages', '/internal/llm/v1/messages'],
    ['/v1/messages?beta=true', '/internal/llm/v1/messages?beta=true'],
    ['/v1/messages?x=/../../permission', '/internal/llm/v1/messages'],
    ['/v1/messages/count_tokens', '/internal/llm/v1/messages/count_tokens'],
    ['/internal/llm/v1/responses', '/internal/llm/v1/responses'],
  ])('passes %s on as %s', (url, path) => {
    expect(forwardedPath('POST', url)).toBe(path);
  });
  it.each([
    ['GET', '/v1/messages'],
    ['POST', '/internal/sessions/x/permission'],
    ['POST', '/v1/messages/../../internal/sessions/x/permission'],
    ['POST', '/v1/messages%2f..%2fpermission'],
    ['POST', '/internal/llm/../sessions/x/permission'],
    ['POST', 'http://cp/v1/messages'],
    ['POST', '//v1/messages'],
    ['POST', ''],
  ])('does not pass %s %s', (method, url) => {
    expect(forwardedPath(method, url)).toBeUndefined();
  });
  it('replaces every credential and keeps what the dialect needs', () => {
    const headers = forwardedHeaders(
      {
        authorization: 'Bearer forged',
        'x-api-key': 'placeholder',
        cookie: 'a=b',
        host: 'evil',
        'x-forwarded-for': '1.1.1.1',
        'fb-org': 'other',
        traceparent: 'x',
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      'llm-token',
    );
    expect(headers).toEqual({
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
      host: 'fluidbox',
      authorization: 'Bearer llm-token',
    });
  });
  it('tells the end of the budget from a rate limit', () => {
    expect(readRefusal(429, '{"error":{"code":"budget_exhausted"}}')).toBe('budget_exhausted');
    expect(readRefusal(429, '{"error":{"type":"rate_limit_error"}}')).toBeUndefined();
    expect(readRefusal(403, '{"error":"wrong_audience"}')).toBe('wrong_audience');
    expect(readRefusal(200, 'budget_exhausted wrong_audience')).toBeUndefined();
  });
});

describe('the self-test of the sandbox', () => {
  const heading = 'Inter-|   Receive\n face |bytes\n';
  it('knows loopback from an interface', () => {
    expect(checks.refuseInterfaces(`${heading}    lo: 0 0\n`)).toBeUndefined();
    expect(checks.refuseInterfaces(`${heading}    lo: 0 0\n  eth0: 0 0\n`)).toContain('eth0');
  });
  it('takes only the word of the kernel for unreachable', () => {
    expect(checks.refuseReachability('x', 'ENETUNREACH')).toBeUndefined();
    for (const outcome of ['connected', 'ECONNREFUSED', 'timed out', 'EHOSTUNREACH', 'sent'])
      expect(checks.refuseReachability('x', outcome)).toBeDefined();
    expect(checks.refuseVsock('EPERM')).toBeUndefined();
    expect(checks.refuseVsock('created')).toBeDefined();
  });
  it('finds tokens by value and credentials by name', () => {
    expect(checks.refuseCredentials('env', 'PATH=/usr/bin\0FLUIDBOX_TOKENS_FD=3', ['tok-1'])).toBeUndefined();
    expect(checks.refuseCredentials('env', 'X=tok-1', ['tok-1'])).toContain('token');
    for (const name of ['ANTHROPIC_API_KEY', 'GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'NPM_TOKEN', 'DB_PASSWORD'])
      expect(checks.refuseCredentials('env', `A=1\0${name}=x`, [])).toContain(name);
  });
  it('never repeats a token in its reason', () => {
    expect(checks.refuseCredentials('env', 'X=tok-1', ['tok-1'])).not.toContain('tok-1');
  });
  it('wants no capability, no_new_privs and a filter', () => {
    const status = (caps: string, privs: string, seccomp: string) => `CapEff:\t${caps}\nNoNewPrivs:\t${privs}\nSeccomp:\t${seccomp}\n`;
    expect(checks.refusePrivileges(status('0000000000000000', '1', '2'))).toBeUndefined();
    for (const bad of [
      status('0000000000000001', '1', '2'),
      status('0000000000000000', '0', '2'),
      status('0000000000000000', '1', '0'),
      '',
    ])
      expect(checks.refusePrivileges(bad)).toBeDefined();
  });
  it('wants exactly 403 wrong_audience', () => {
    expect(checks.refuseAudience({ status: 403, body: '{"error":"wrong_audience"}' })).toBeUndefined();
    for (const reply of [
      { status: 200, body: '' },
      { status: 401, body: 'wrong_audience' },
      { status: 403, body: '{}' },
    ])
      expect(checks.refuseAudience(reply)).toBeDefined();
  });
});
