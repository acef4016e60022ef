import { createCipheriv, createDecipheriv } from 'node:crypto';
import { RandomPool } from './random-pool';

/** AES-256-GCM: version (1) ‖ nonce (12, random) ‖ ciphertext ‖ tag (16). The version leaves room for another cipher. */
const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
export const keyBytes = 32;

const nonces = new RandomPool(nonceBytes);

export function seal(key: Buffer, plain: Buffer, aad: string): Buffer {
  const nonce = nonces.next();
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(aad, 'utf8'));
  return Buffer.concat([Buffer.of(version), nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Throws when the bytes were changed, moved to another place (`aad`) or sealed with another key: that is never normal. */
export function open(key: Buffer, sealed: Buffer, aad: string): Buffer {
  if (sealed.length < 1 + nonceBytes + tagBytes || sealed[0] !== version)
    throw new Error(`sealed content of ${aad} is damaged: unknown format`);
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 1 + nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(aad, 'utf8'));
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(1 + nonceBytes, sealed.length - tagBytes)), decipher.final()]);
  } catch (cause) {
    throw new Error(`sealed content of ${aad} does not match its key or its place`, { cause });
  }
}
