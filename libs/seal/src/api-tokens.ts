import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** `fbx_pat_` and 256 random bits. Only the hash is stored, so a copy of the database opens nothing. */
export function generateApiToken(): { token: string; hash: string } {
  const token = `fbx_pat_${randomBytes(32).toString('hex')}`;
  return { token, hash: hashApiToken(token) };
}

/** SHA-256, hexadecimal. No slow hash: 256 random bits cannot be guessed. */
export const hashApiToken = (token: string): string => hash('sha256', token, 'hex');

/** Compares without telling by its time where two secrets differ; of any length, because it compares their hashes. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}
