import { CompactSign, SignJWT } from 'jose';
import { generateApiToken, hashApiToken, sameSecret } from './api-tokens';
import { signCheckpoint, verifyCheckpoint } from './checkpoints';
import { createRunTokenVerifier, type RunTokenGrant, signRunToken } from './run-tokens';
import { generateSigningKey } from './signing-keys';

const now = new Date('2026-11-29T20:00:00.000Z');
const later = (secs: number): Date => new Date(now.getTime() + secs * 1_000);
const grant: RunTokenGrant = {
  audience: 'llm',
  runId: '0190a0b0-1234-7abc-8def-0123456789ac',
  org: 'default',
  generation: 2,
  jti: 'j1',
  expiresAt: later(60),
};
const key = generateSigningKey();
const verifier = createRunTokenVerifier(key.publicKeys);

describe('run tokens', () => {
  it('gives the claims of a good token, the first time and again', async () => {
    const token = await signRunToken(key, grant);
    for (let i = 0; i < 2; i++) {
      expect(await verifier.verify(token, 'llm', now)).toEqual({
        ok: true,
        claims: { iss: 'fluidbox', aud: 'llm', sub: grant.runId, org: 'default', gen: 2, jti: 'j1', exp: later(60).getTime() / 1_000 },
      });
    }
  });

  it('refuses another audience and a token past its end, also when it was good before', async () => {
    const token = await signRunToken(key, grant);
    expect(await verifier.verify(token, 'llm', now)).toMatchObject({ ok: true });
    expect(await verifier.verify(token, 'tool', now)).toEqual({ ok: false, failure: 'wrong_audience' });
    expect(await verifier.verify(token, 'llm', later(60))).toEqual({ ok: false, failure: 'expired' });
  });

  it('refuses a forged token before it looks at the audience', async () => {
    const forged = await signRunToken(generateSigningKey(), grant);
    expect(await verifier.verify(forged, 'tool', now)).toEqual({ ok: false, failure: 'bad_signature' });
    const [header, , signature] = (await signRunToken(key, grant)).split('.');
    const payload = Buffer.from(
      JSON.stringify({ iss: 'fluidbox', aud: 'llm', sub: grant.runId, org: 'default', gen: 9, jti: 'x', exp: 4e9 }),
    ).toString('base64url');
    expect(await verifier.verify(`${header}.${payload}.${signature}`, 'llm', now)).toEqual({ ok: false, failure: 'bad_signature' });
  });

  const claims = { org: 'default', gen: 2, jti: 'j', aud: 'llm', sub: grant.runId, iss: 'fluidbox', exp: 4_000_000_000 };
  const variants: readonly [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['another typ', { typ: 'JWT' }, {}],
    ['no typ', { typ: undefined }, {}],
    ['another issuer', {}, { iss: 'someone' }],
    ['an unknown audience', {}, { aud: 'all' }],
    ['several audiences', {}, { aud: ['llm', 'tool'] }],
    ['no end', {}, { exp: undefined }],
    ['generation 0', {}, { gen: 0 }],
    ['no run', {}, { sub: 'x' }],
  ];
  it.each(variants)('refuses a token of our own key with %s', async (_name, header, change) => {
    const token = await new SignJWT({ ...claims, ...change })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'fbx-run+jwt', kid: key.kid, ...header } as never)
      .sign(key.privateKey);
    expect(await verifier.verify(token, 'llm', now)).toMatchObject({ ok: false });
  });
  it('accepts the same token without the change', async () => {
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', typ: 'fbx-run+jwt', kid: key.kid }).sign(key.privateKey);
    expect(await verifier.verify(token, 'llm', now)).toMatchObject({ ok: true });
  });

  it('refuses alg none, a MAC with the public key, and what is no token', async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    expect(await verifier.verify(`${part({ alg: 'none', typ: 'fbx-run+jwt' })}.${part(claims)}.`, 'llm', now)).toEqual({
      ok: false,
      failure: 'malformed',
    });
    const mac = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: 'fbx-run+jwt', kid: key.kid })
      .sign(Buffer.from(key.publicKeys.keys[0]?.x ?? '', 'base64url'));
    expect(await verifier.verify(mac, 'llm', now)).toEqual({ ok: false, failure: 'malformed' });
    for (const text of ['', 'x', 'a.b.c', '.'.repeat(5_000)]) expect(await verifier.verify(text, 'llm', now)).toMatchObject({ ok: false });
    expect(await verifier.verify(undefined, 'llm', now)).toEqual({ ok: false, failure: 'missing' });
  });

  it('accepts both keys while one replaces the other', async () => {
    const next = generateSigningKey();
    const both = createRunTokenVerifier({ keys: [...key.publicKeys.keys, ...next.publicKeys.keys] });
    expect(await both.verify(await signRunToken(key, grant), 'llm', now)).toMatchObject({ ok: true });
    expect(await both.verify(await signRunToken(next, grant), 'llm', now)).toMatchObject({ ok: true });
  });
});

describe('API tokens', () => {
  it('are random, recognised by their hash, and nothing else is', () => {
    const { token, hash } = generateApiToken();
    expect(token).toMatch(/^fbx_pat_[0-9a-f]{64}$/);
    expect(hash).toBe(hashApiToken(token));
    expect(generateApiToken().token).not.toBe(token);
    expect(hashApiToken(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)).not.toBe(hash);
    expect(sameSecret('a', 'a')).toBe(true);
    expect(sameSecret('a', 'longer')).toBe(false);
  });
});

describe('checkpoints', () => {
  const checkpoint = { org: 'default', stream: 'run-1', seq: 7, hash: '0a'.repeat(32), at: '2026-11-29T20:00:00.000Z' } as Parameters<
    typeof signCheckpoint
  >[1];

  it('verify with the key that signed them', async () => {
    const jws = await signCheckpoint(key, checkpoint);
    expect(await verifyCheckpoint(key.publicKeys, jws)).toEqual({ checkpoint, kid: key.kid });
    expect(await signCheckpoint(key, { at: checkpoint.at, hash: checkpoint.hash, seq: 7, stream: 'run-1', org: checkpoint.org })).toBe(jws);
  });

  it('do not verify with another key, changed, in another form, or as a token', async () => {
    const jws = await signCheckpoint(key, checkpoint);
    const [header, , signature] = jws.split('.');
    expect(await verifyCheckpoint(generateSigningKey().publicKeys, jws)).toBeNull();
    expect(
      await verifyCheckpoint(
        key.publicKeys,
        `${header}.${Buffer.from(JSON.stringify({ ...checkpoint, seq: 8 })).toString('base64url')}.${signature}`,
      ),
    ).toBeNull();
    const signed = (payload: string, typ: string): Promise<string> =>
      new CompactSign(Buffer.from(payload)).setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ }).sign(key.privateKey);
    expect(await verifyCheckpoint(key.publicKeys, await signed(JSON.stringify(checkpoint), 'fbx-checkpoint+jws'))).toBeNull();
    expect(await verifyCheckpoint(key.publicKeys, await signed('no json', 'fbx-checkpoint+jws'))).toBeNull();
    expect(await verifyCheckpoint(key.publicKeys, await signRunToken(key, grant))).toBeNull();
    expect(await verifyCheckpoint(key.publicKeys, 'x')).toBeNull();
  });
});
