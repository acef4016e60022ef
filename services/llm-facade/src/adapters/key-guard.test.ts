import { type ByteFilter, keyGuard } from './key-guard';

const key = 'sk-provider-0123456789';
const guard = keyGuard([key]);
/** What a reader sees of a text in pieces of this size. */
const read = (filter: ByteFilter, text: string, size: number): { text: string; error: unknown } => {
  const bytes = Buffer.from(text);
  const seen: Buffer[] = [];
  const result = (error?: unknown) => ({ text: Buffer.concat(seen).toString(), error });
  try {
    for (let at = 0; at < bytes.length; at += size) seen.push(Buffer.from(filter.pass(bytes.subarray(at, at + size))));
    seen.push(filter.rest());
    return result();
  } catch (error) {
    return result(error);
  }
};

describe('the key of the provider', () => {
  const text = `{"error":"bad key ${key} 北京 ${key}"}`;
  const sizes = [1, 2, 3, 7, key.length - 1, key.length, key.length + 1, 1_000];

  it.each(sizes)('is replaced in what comes back in pieces of %i bytes', (size) => {
    expect(read(guard.cleaning(), text, size)).toEqual({
      text: '{"error":"bad key [provider key] 北京 [provider key]"}',
      error: undefined,
    });
    const other = 'no key at all, and sk-provider-0';
    expect(read(guard.cleaning(), other, size)).toEqual({ text: other, error: undefined });
  });

  it.each(sizes)('ends a stream in pieces of %i bytes before it is complete', (size) => {
    const ended = read(guard.watching(), text, size);
    expect(ended.error).toBeInstanceOf(Error);
    expect(ended.text).not.toContain(key);
    expect(text.startsWith(ended.text)).toBe(true);
    const other = `sk-provider-0 ${'x'.repeat(90)}`;
    expect(read(guard.watching(), other, size)).toEqual({ text: other, error: undefined });
  });

  it.each(sizes)('is kept out with every other one, of whatever length, in pieces of %i bytes', (size) => {
    const others = ['sk-second-012345', `sk-third-${'x'.repeat(40)}`];
    const several = keyGuard([key, ...others, key, 'short']);
    for (const one of [key, ...others]) {
      expect(read(several.cleaning(), `a ${one} b short`, size).text).toBe('a [provider key] b short');
      const ended = read(several.watching(), `a ${one} b`, size);
      expect([ended.error instanceof Error, ended.text.includes(one)]).toEqual([true, false]);
      expect(several.clean(`a ${one}`)).toBe('a [provider key]');
    }
    const clean = 'sk-second-0 and sk-third-xxxx, and more of it that is no key at all';
    expect(read(several.watching(), clean, size)).toEqual({ text: clean, error: undefined });
    expect(read(several.cleaning(), clean, size)).toEqual({ text: clean, error: undefined });
  });

  it('is replaced in a text, unless it is too short to be one', () => {
    expect(guard.clean(`x${key}`)).toBe('x[provider key]');
    expect(keyGuard(['key']).clean('a key')).toBe('a key');
  });
});
