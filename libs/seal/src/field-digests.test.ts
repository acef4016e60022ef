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

  it('of the changed files are the same in any order and shape, and differ by path, kind and the text of a new file', () => {
    const of = (input: Record<string, unknown>) => fieldDigests(keys, input, ['changed_files'])?.changed_files;
    const add = { file_path: '/workspace/a', change: 'add', diff: 'x\n' };
    const update = { file_path: '/workspace/b', change: 'update', diff: '@@ -1 +1 @@' };
    expect(of({ edits: [add, update] })).toBe(of({ edits: [{ ...update, diff: 'another view of it' }, add] }));
    expect(of(add)).toBe(of({ edits: [{ ...add, diff: 'x\r\n' }] }));
    const others = [{ edits: [add] }, { edits: [] }, {}, { edits: 'x' }, { edits: [null] }, { changed_files: [add, update] }];
    const changed = [
      { ...add, diff: 'y\n' },
      { ...add, file_path: '/workspace/.git/a' },
      { ...add, change: 'delete' },
    ];
    for (const other of [...others, ...changed.map((entry) => ({ edits: [entry, update] }))])
      expect(of(other)).not.toBe(of({ edits: [add, update] }));
  });
});
