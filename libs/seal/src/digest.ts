import { hash } from 'node:crypto';
import { canonicalJson } from '@fluidbox/redaction';

/** `sha256:<hex>` of bytes, or of a text's UTF-8 bytes: documents, archives, artifacts. */
export const sha256Hex = (data: Buffer | string): string => `sha256:${hash('sha256', data, 'hex')}`;

/** `sha256:<hex>` of salt ‖ canonical JSON. Whoever lacks the salt cannot try values against it. */
export function saltedDigest(salt: Buffer, value: unknown): string {
  return sha256Hex(Buffer.concat([salt, Buffer.from(canonicalJson(value), 'utf8')]));
}
