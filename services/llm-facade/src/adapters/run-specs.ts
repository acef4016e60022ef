import { RunSpec } from '@fluidbox/contracts';
import type { EventStore } from '@fluidbox/event-store';

const cachedMax = 2_000;

/** Frozen specs by digest. The store checks the bytes against it, so a cached one can never be stale. */
export function specReader(store: Pick<EventStore, 'document'>): (digest: string) => Promise<RunSpec> {
  const cached = new Map<string, RunSpec>();
  return async (digest) => {
    const known = cached.get(digest);
    if (known !== undefined) return known;
    const bytes = await store.document(digest);
    if (bytes === null) throw new Error(`the frozen spec ${digest} is not stored`);
    const spec = RunSpec.parse(JSON.parse(bytes.toString('utf8')));
    const oldest = cached.size >= cachedMax ? cached.keys().next().value : undefined;
    if (oldest !== undefined) cached.delete(oldest);
    cached.set(digest, spec);
    return spec;
  };
}
