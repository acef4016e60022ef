import { randomBytes } from 'node:crypto';
import { saltedDigest } from './digest';
import { fieldDigests } from './field-digests';

describe('digests of the fields of an input', () => {
  const salt = randomBytes(32);
  const keys = { digest: (value: unknown) => saltedDigest(salt, value) };

  it('are those of the field’s own value, by the digest of the input', () => {
    const input = { command: 'ls', timeout: 5, options: { b: 1, a: 2 } };
    expect(fieldDigests(keys, input, ['command', 'options'])).toEqual({
      command: keys.digest('ls'),
      options: keys.digest({ a: 2, b: 1 }),
    });
  });

  it('leave out what is not there, and are absent when nothing is', () => {
    expect(fieldDigests(keys, { command: 'ls' }, ['content', 'command'])).toEqual({ command: keys.digest('ls') });
    expect(fieldDigests(keys, { command: 'ls' }, ['content'])).toBeUndefined();
    expect(fieldDigests(keys, { command: 'ls' }, undefined)).toBeUndefined();
    expect(fieldDigests(keys, {}, ['toString', '__proto__'])).toBeUndefined();
  });

  it('tell a null from nothing, and one value from another', () => {
    expect(fieldDigests(keys, { a: null }, ['a'])).toEqual({ a: keys.digest(null) });
    expect(fieldDigests(keys, { a: 'x' }, ['a'])).not.toEqual(fieldDigests(keys, { a: 'y' }, ['a']));
    expect(fieldDigests({ digest: (value) => saltedDigest(randomBytes(32), value) }, { a: 'x' }, ['a'])).not.toEqual(
      fieldDigests(keys, { a: 'x' }, ['a']),
    );
  });
});
