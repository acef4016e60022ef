import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { canonicalJson } from '@fluidbox/redaction';
import { z } from 'zod';
import { readSecretFile, writeSecretFile } from './secret-file';

const PublicJwk = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  kid: z.string(),
  use: z.literal('sig'),
  alg: z.literal('EdDSA'),
});
export const PublicKeySet = z.object({ keys: z.array(PublicJwk).min(1) });
export type PublicKeySet = z.infer<typeof PublicKeySet>;

/** An Ed25519 private key. `kid` is its RFC 7638 thumbprint, so one key has one name everywhere. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKeys: PublicKeySet;
}

function signingKeyOf(privateKey: KeyObject): SigningKey {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined) throw new Error('an Ed25519 key has a public point');
  const kid = hash('sha256', canonicalJson({ crv: 'Ed25519', kty: 'OKP', x }), 'base64url');
  return { kid, privateKey, publicKeys: { keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' }] } };
}

export const generateSigningKey = (): SigningKey => signingKeyOf(generateKeyPairSync('ed25519').privateKey);

/** Writes a new private key (PKCS #8 PEM, 0600; fails when it exists) and its public keys (JWKS, 0644). */
export function generateSigningKeyFiles(privatePath: string, publicPath: string): SigningKey {
  const key = generateSigningKey();
  writeSecretFile(privatePath, key.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
  const descriptor = openSync(publicPath, 'w', 0o644);
  try {
    writeFileSync(descriptor, `${JSON.stringify(key.publicKeys, null, 2)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  return key;
}

export function loadSigningKey(path: string): SigningKey {
  const pem = readSecretFile(path, 'signing key');
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (cause) {
    throw new Error(`${path}: not a private key in PEM (openssl genpkey -algorithm ed25519)`, { cause });
  }
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${path}: must be an Ed25519 key, is ${key.asymmetricKeyType ?? 'unknown'}`);
  return signingKeyOf(key);
}

/** Several keys in one set: while a key is being replaced both verify. */
export function loadPublicKeys(path: string): PublicKeySet {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read the public keys ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${path}: not JSON; expected a JWKS of Ed25519 keys`, { cause });
  }
  const result = PublicKeySet.safeParse(parsed);
  if (!result.success)
    throw new Error(`${path}: not a JWKS of Ed25519 keys (${result.error.issues[0]?.path.join('.')}: ${result.error.issues[0]?.message})`);
  return result.data;
}
