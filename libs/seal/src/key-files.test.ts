import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { calculateJwkThumbprint } from 'jose';
import { generateKekFile, loadKek } from './kek';
import { generateSigningKeyFiles, loadPublicKeys, loadSigningKey } from './signing-keys';

let dir: string;
const file = (name: string): string => path.join(dir, name);
const secret = (name: string, text: string): string => {
  writeFileSync(file(name), text, { mode: 0o600 });
  return file(name);
};
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'seal-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('key files', () => {
  it('are written 0600, read back, and never overwritten', () => {
    generateKekFile(file('kek'));
    expect(statSync(file('kek')).mode & 0o777).toBe(0o600);
    const wrapped = loadKek(file('kek')).wrap(Buffer.from('key'), 'a');
    expect(loadKek(file('kek')).unwrap(wrapped, 'a').toString()).toBe('key');
    expect(() => generateKekFile(file('kek'))).toThrow('EEXIST');
  });

  it('keep a signing key whose kid is the RFC 7638 thumbprint', async () => {
    const key = generateSigningKeyFiles(file('key.pem'), file('jwks.json'));
    expect(statSync(file('key.pem')).mode & 0o777).toBe(0o600);
    expect(loadSigningKey(file('key.pem')).publicKeys).toEqual(key.publicKeys);
    expect(loadPublicKeys(file('jwks.json'))).toEqual(key.publicKeys);
    expect(key.kid).toBe(await calculateJwkThumbprint(key.publicKeys.keys[0] as never, 'sha256'));
    expect(Object.keys(key.publicKeys.keys[0] ?? {})).not.toContain('d');
  });

  it('are refused when others may read them, and the fix is named', () => {
    generateKekFile(file('kek'));
    chmodSync(file('kek'), 0o640);
    expect(() => loadKek(file('kek'))).toThrow(`has mode 0640: others may read it. Run: chmod 600 ${file('kek')}`);
    chmodSync(file('kek'), 0o400);
    expect(() => loadKek(file('kek'))).not.toThrow();
  });

  it('are refused with their name and the reason when they hold something else', () => {
    expect(() => loadKek(file('none'))).toThrow(`cannot read the key-encryption key ${file('none')}`);
    expect(() => loadKek(secret('short', 'abcd'))).toThrow('64 hexadecimal digits');
    expect(() => loadSigningKey(secret('text', 'hello'))).toThrow('not a private key in PEM');
    const rsa = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    expect(() => loadSigningKey(secret('ec', rsa))).toThrow('must be an Ed25519 key, is ec');
    expect(() => loadPublicKeys(secret('jwks', '{'))).toThrow('not JSON');
    expect(() => loadPublicKeys(secret('jwks', '{"keys":[]}'))).toThrow('not a JWKS of Ed25519 keys');
  });
});
