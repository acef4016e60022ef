import { timelineEvent } from '@fluidbox/contracts';
import type { EventStore } from '@fluidbox/event-store';
import type { NameDirectory } from '../app/ports';

const pageSize = 1_000;

/** Names in memory, brought up to the head of the log before each list: reading is a few rows, and a restart costs one scan. */
export function nameDirectory(store: EventStore): NameDirectory {
  const names = { agent: new Map<string, Set<string>>(), policy: new Map<string, Set<string>>() };
  let position = 0;
  let reading: Promise<void> = Promise.resolve();

  const add = (category: 'agent' | 'policy', org: string, name: string): void => {
    const known = names[category].get(org) ?? new Set<string>();
    names[category].set(org, known.add(name));
  };

  async function readOn(): Promise<void> {
    for (;;) {
      const seen = await store.scan({ after: position, limit: pageSize, categories: ['agent', 'policy'] });
      for (const recorded of seen.events) {
        const event = timelineEvent(recorded);
        if (event?.type === 'agent.created') add('agent', event.org, event.data.name);
        if (event?.type === 'policy.created') add('policy', event.org, event.data.name);
      }
      if (seen.position <= position) return;
      position = seen.position;
    }
  }

  return {
    async list(org, category) {
      const previous = reading;
      // One reader at a time; a failed read is tried again by the next one.
      reading = previous.then(readOn, readOn);
      await reading;
      return [...(names[category].get(org) ?? [])].sort();
    },
  };
}
