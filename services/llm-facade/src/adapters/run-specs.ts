import { RunSpec } from '@fluidbox/contracts';
import { cachedByDigest, type EventStore } from '@fluidbox/event-store';

/** Frozen specs by digest. */
export const specReader = (store: Pick<EventStore, 'document'>, specsMax = 2_000): ((digest: string) => Promise<RunSpec>) =>
  cachedByDigest(async (digest) => {
    const bytes = await store.document(digest);
    if (bytes === null) throw new Error(`the frozen spec ${digest} is not stored`);
    return RunSpec.parse(JSON.parse(bytes.toString('utf8')));
  }, specsMax);
