import { hash } from 'node:crypto';
import { type Audience, RunTokenClaims } from '@fluidbox/contracts';
import { createLocalJWKSet, errors, jwtVerify, SignJWT } from 'jose';
import type { PublicKeySet, SigningKey } from './signing-keys';

const runTokenIssuer = 'fluidbox';
const runTokenType = 'fbx-run+jwt';

/** Bytes beyond which a token is not looked at: ours have about 400. */
const tokenCharsMax = 2_048;
const verifiedTokensMax = 8_192;

export interface RunTokenGrant {
  readonly audience: Audience;
  readonly runId: string;
  readonly org: string;
  readonly generation: number;
  readonly jti: string;
  readonly expiresAt: Date;
}

export function signRunToken(key: SigningKey, grant: RunTokenGrant): Promise<string> {
  return new SignJWT({ org: grant.org, gen: grant.generation })
    .setProtectedHeader({ alg: 'EdDSA', typ: runTokenType, kid: key.kid })
    .setIssuer(runTokenIssuer)
    .setAudience(grant.audience)
    .setSubject(grant.runId)
    .setJti(grant.jti)
    .setExpirationTime(Math.floor(grant.expiresAt.getTime() / 1_000))
    .sign(key.privateKey);
}

export type RunTokenFailure = 'missing' | 'malformed' | 'bad_signature' | 'expired' | 'wrong_audience';
export type RunTokenCheck =
  | { readonly ok: true; readonly claims: RunTokenClaims }
  | { readonly ok: false; readonly failure: RunTokenFailure };

/** Signature first (401), then audience (403): a forged token never learns which audience it should have named. */
export interface RunTokenVerifier {
  verify(token: string | null | undefined, audience: Audience, now: Date): Promise<RunTokenCheck>;
}

/**
 * Issuer, type and algorithm are pinned. A run sends the same few tokens thousands of times, so verified ones are remembered by their
 * hash; time and audience are checked every time.
 */
export function createRunTokenVerifier(publicKeys: PublicKeySet): RunTokenVerifier {
  const keys = createLocalJWKSet(publicKeys);
  const verified = new Map<string, RunTokenClaims>();

  async function claimsOf(token: string): Promise<RunTokenClaims | RunTokenFailure> {
    const name = hash('sha256', token, 'base64');
    const known = verified.get(name);
    if (known !== undefined) return known;
    try {
      // Time is judged by the caller's clock, below: the epoch here makes every `exp` lie ahead.
      const { payload } = await jwtVerify(token, keys, {
        issuer: runTokenIssuer,
        typ: runTokenType,
        algorithms: ['EdDSA'],
        requiredClaims: ['exp', 'sub', 'jti', 'aud'],
        currentDate: new Date(0),
      });
      const claims = RunTokenClaims.safeParse(payload);
      if (!claims.success) return 'malformed';
      if (verified.size >= verifiedTokensMax) verified.clear();
      verified.set(name, claims.data);
      return claims.data;
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed || error instanceof errors.JWKSNoMatchingKey) return 'bad_signature';
      if (error instanceof errors.JOSEError) return 'malformed';
      throw error;
    }
  }

  return {
    async verify(token, audience, now) {
      if (token === null || token === undefined || token === '') return { ok: false, failure: 'missing' };
      if (token.length > tokenCharsMax) return { ok: false, failure: 'malformed' };
      const claims = await claimsOf(token);
      if (typeof claims === 'string') return { ok: false, failure: claims };
      if (claims.exp * 1_000 <= now.getTime()) return { ok: false, failure: 'expired' };
      return claims.aud === audience ? { ok: true, claims } : { ok: false, failure: 'wrong_audience' };
    },
  };
}
