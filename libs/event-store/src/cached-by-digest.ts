/**
 * What was made of stored documents, the least recently used out first. A digest never changes its meaning, so nothing here goes stale;
 * callers that come while one is loaded wait for the same load.
 */
export function cachedByDigest<T>(load: (digest: string) => Promise<T>, entriesMax: number): (digest: string) => Promise<T> {
  const cache = new Map<string, Promise<T>>();
  return (digest) => {
    const known = cache.get(digest);
    const entry = known ?? load(digest);
    cache.delete(digest);
    cache.set(digest, entry);
    // What could not be loaded now may be there the next time.
    if (known === undefined) entry.catch(() => cache.delete(digest));
    const [oldest] = cache.keys();
    if (cache.size > entriesMax && oldest !== undefined) cache.delete(oldest);
    return entry;
  };
}
