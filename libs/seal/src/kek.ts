import { randomBytes } from 'node:crypto';
import { keyBytes, open, seal } from './aead';
import { readSecretFile, writeSecretFile } from './secret-file';

/** Wraps run keys. A file today; a key service implements the same two calls. */
export interface KeyEncryptionKey {
  wrap(key: Buffer, aad: string): Buffer;
  unwrap(wrapped: Buffer, aad: string): Buffer;
}

export const kekFromBytes = (key: Buffer): KeyEncryptionKey => {
  if (key.length !== keyBytes) throw new Error(`a key-encryption key has ${keyBytes} bytes, got ${key.length}`);
  return { wrap: (plain, aad) => seal(key, plain, aad), unwrap: (wrapped, aad) => open(key, wrapped, aad) };
};

/** Reads a KEK file: 64 hexadecimal digits, readable by its owner only. */
export function loadKek(path: string): KeyEncryptionKey {
  const text = readSecretFile(path, 'key-encryption key').trim();
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw new Error(`${path}: a key-encryption key is 64 hexadecimal digits (openssl rand -hex 32)`);
  return kekFromBytes(Buffer.from(text, 'hex'));
}

/** Fails when the file exists: a KEK that is replaced makes everything sealed under it unreadable. */
export function generateKekFile(path: string): void {
  writeSecretFile(path, `${randomBytes(keyBytes).toString('hex')}\n`);
}
