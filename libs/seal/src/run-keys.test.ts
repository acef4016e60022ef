import { randomBytes } from 'node:crypto';
import { kekFromBytes } from './kek';
import { grantedKeyring, storedKeyring } from './keyring';
import { createRunKeys, openRunKeys } from './run-keys';

const stream = 'run-0190a0b0-1234-7abc-8def-0123456789ac';
const kek = kekFromBytes(randomBytes(32));
const plain = Buffer.from('{"command":"npm test"}');

describe('run keys', () => {
  it('opens what it sealed, also after wrapping and unwrapping', () => {
    const { keys, wrapped } = createRunKeys(kek, stream);
    const sealed = keys.seal('rest', plain, 'a');
    expect(openRunKeys(kek, stream, wrapped).open('rest', sealed, 'a')).toEqual(plain);
    expect(sealed.includes(plain)).toBe(false);
    expect(keys.seal('rest', plain, 'a')).not.toEqual(sealed);
  });

  it('does not open at another place, with the other key, or after any changed byte', () => {
    const { keys } = createRunKeys(kek, stream);
    const sealed = keys.seal('rest', plain, 'a');
    expect(() => keys.open('rest', sealed, 'b')).toThrow('does not match its key or its place');
    expect(() => keys.open('projection', sealed, 'a')).toThrow('does not match');
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(() => keys.open('rest', changed, 'a')).toThrow('sealed content of a');
    }
    expect(() => keys.open('rest', Buffer.alloc(3), 'a')).toThrow('unknown format');
  });

  it('does not unwrap for another run, another column or with another KEK', () => {
    const { wrapped } = createRunKeys(kek, stream);
    expect(() => openRunKeys(kek, 'run-other', wrapped)).toThrow('does not match');
    expect(() => openRunKeys(kek, stream, { ...wrapped, projection: wrapped.rest })).toThrow('does not match');
    expect(() => openRunKeys(kekFromBytes(randomBytes(32)), stream, wrapped)).toThrow('does not match');
  });

  it('answers null for content whose key was destroyed and keeps the other class', () => {
    const { keys, wrapped } = createRunKeys(kek, stream);
    const sealed = { projection: keys.seal('projection', plain, 'a'), rest: keys.seal('rest', plain, 'a') };
    const erased = openRunKeys(kek, stream, { ...wrapped, rest: null, salt: null });
    expect(erased.open('rest', sealed.rest, 'a')).toBeNull();
    expect(erased.open('projection', sealed.projection, 'a')).toEqual(plain);
    expect(() => erased.digest('x')).toThrow('destroyed');
    expect(() => erased.seal('rest', plain, 'a')).toThrow('destroyed');
  });

  it('digests by value and by run', () => {
    const one = createRunKeys(kek, stream).keys;
    const other = createRunKeys(kek, stream).keys;
    expect(one.digest({ a: 1, b: 2 })).toBe(one.digest({ b: 2, a: 1 }));
    expect(one.digest({ a: 1 })).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(one.digest({ a: 1 })).not.toBe(other.digest({ a: 1 }));
  });
});

describe('keyrings', () => {
  it('a granted keyring uses what it was granted and nothing else', async () => {
    const { keys } = createRunKeys(kek, stream);
    const keyring = grantedKeyring('scheduler');
    await expect(keyring.keysOf(stream)).rejects.toThrow('granted no keys');
    keyring.grant(stream, keys.exportRest());
    const granted = await keyring.keysOf(stream);
    expect(granted.open('rest', keys.seal('rest', plain, 'a'), 'a')).toEqual(plain);
    expect(granted.open('projection', keys.seal('projection', plain, 'a'), 'a')).toBeNull();
    expect(granted.digest('x')).toBe(keys.digest('x'));
    expect(() => keyring.create('run-new')).toThrow('holds no key-encryption key');
    keyring.forget(stream);
    await expect(keyring.keysOf(stream)).rejects.toThrow('granted no keys');
  });

  it('a stored keyring asks again after a minute, so that a destroyed key stops working', async () => {
    const { keys, wrapped } = createRunKeys(kek, stream);
    let stored = wrapped;
    let nowMs = 0;
    const keyring = storedKeyring(
      kek,
      async () => stored,
      () => nowMs,
    );
    const sealed = keys.seal('rest', plain, 'a');
    expect((await keyring.keysOf(stream)).open('rest', sealed, 'a')).toEqual(plain);
    stored = { ...wrapped, rest: null };
    nowMs = 60_000;
    expect((await keyring.keysOf(stream)).open('rest', sealed, 'a')).toBeNull();
  });
});
