import { Checkpoint, checkpointType } from '@fluidbox/contracts';
import { canonicalJson } from '@fluidbox/redaction';
import { CompactSign, compactVerify, createLocalJWKSet, errors } from 'jose';
import type { PublicKeySet, SigningKey } from './signing-keys';

/** Compact JWS over the canonical bytes of the checkpoint: the same checkpoint and key always give the same text. */
export function signCheckpoint(key: SigningKey, checkpoint: Checkpoint): Promise<string> {
  return new CompactSign(Buffer.from(canonicalJson(Checkpoint.parse(checkpoint)), 'utf8'))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ: checkpointType })
    .sign(key.privateKey);
}

/** Null when it was not signed by one of these keys, or signs something else than a checkpoint in canonical form. */
export async function verifyCheckpoint(publicKeys: PublicKeySet, jws: string): Promise<{ checkpoint: Checkpoint; kid: string } | null> {
  try {
    const { payload, protectedHeader } = await compactVerify(jws, createLocalJWKSet(publicKeys), { algorithms: ['EdDSA'] });
    if (protectedHeader.typ !== checkpointType || protectedHeader.kid === undefined) return null;
    const text = Buffer.from(payload).toString('utf8');
    const parsed = Checkpoint.safeParse(JSON.parse(text));
    return parsed.success && canonicalJson(parsed.data) === text ? { checkpoint: parsed.data, kid: protectedHeader.kid } : null;
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof SyntaxError) return null;
    throw error;
  }
}
