import { cachedByDigest } from './cached-by-digest';

describe('what was made of a document', () => {
  it('is loaded once, also for those who ask while it is loaded', async () => {
    const load = jest.fn(async (digest: string) => `of ${digest}`);
    const read = cachedByDigest(load, 2);
    expect(await Promise.all([read('a'), read('a'), read('b')])).toEqual(['of a', 'of a', 'of b']);
    expect(await read('a')).toBe('of a');
    expect(load.mock.calls).toEqual([['a'], ['b']]);
  });

  it('gives way when it was not used for longest', async () => {
    const load = jest.fn(async (digest: string) => digest);
    const read = cachedByDigest(load, 2);
    for (const digest of ['a', 'b', 'a', 'c', 'a', 'b']) await read(digest);
    expect(load.mock.calls.flat()).toEqual(['a', 'b', 'c', 'b']);
  });

  it('is loaded again after a load that failed', async () => {
    const load = jest.fn(async (digest: string) => digest).mockRejectedValueOnce(new Error('not there yet'));
    const read = cachedByDigest(load, 2);
    await expect(read('a')).rejects.toThrow('not there yet');
    expect(await read('a')).toBe('a');
  });
});
