import { keyGuard } from './key-guard';

const key = 'sk-provider-0123456789';
const guard = keyGuard(key);
const pieces = async function* (text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
};
const read = async (body: AsyncIterable<Buffer>): Promise<{ text: string; error: unknown }> => {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of body) chunks.push(Buffer.from(chunk));
    return { text: Buffer.concat(chunks).toString(), error: undefined };
  } catch (error) {
    return { text: Buffer.concat(chunks).toString(), error };
  }
};

describe('the key of the provider', () => {
  const text = `{"error":"bad key ${key} 北京 ${key}"}`;
  const sizes = [1, 2, 3, 7, key.length - 1, key.length, key.length + 1, 1_000];

  it.each(sizes)('is replaced in what comes back in pieces of %i bytes', async (size) => {
    expect(await read(guard.cleaned(pieces(text, size)))).toEqual({
      text: '{"error":"bad key [provider key] 北京 [provider key]"}',
      error: undefined,
    });
    const other = 'no key at all, and sk-provider-0';
    expect(await read(guard.cleaned(pieces(other, size)))).toEqual({ text: other, error: undefined });
  });

  it.each(sizes)('ends a stream in pieces of %i bytes before it is complete', async (size) => {
    const ended = await read(guard.watched(pieces(text, size)));
    expect(ended.error).toBeInstanceOf(Error);
    expect(ended.text).not.toContain(key);
    expect(text.startsWith(ended.text)).toBe(true);
    const other = `sk-provider-0 ${'x'.repeat(90)}`;
    expect(await read(guard.watched(pieces(other, size)))).toEqual({ text: other, error: undefined });
  });

  it('is replaced in a text, unless it is too short to be one', () => {
    expect(guard.clean(`x${key}`)).toBe('x[provider key]');
    expect(keyGuard('key').clean('a key')).toBe('a key');
  });
});
