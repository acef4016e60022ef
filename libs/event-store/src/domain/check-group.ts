import { Problem, streamNameOf } from '@fluidbox/contracts';
import { Redacted } from '@fluidbox/redaction';
import type { AppendGroup } from '../api';

export const ledgerBytesMax = 64 * 1024;
export const contentBytesMax = 4 * 1024 * 1024;
const groupEventsMax = 512;

/** What no correct caller sends. Checked before the queue, so that one wrong group never spoils the batch of others. */
export function checkGroup(group: AppendGroup): void {
  const stream = streamNameOf(group.stream);
  if (group.events.length === 0 || group.events.length > groupEventsMax)
    throw new Problem('internal', `a group of ${stream} has ${group.events.length} events; 1 to ${groupEventsMax} are allowed`);
  if (group.keys !== undefined && group.expected !== 0)
    throw new Problem('internal', `keys of ${stream} can be stored only with its first event (expected: 0)`);
  for (const event of group.events) {
    if (!Redacted.is(event.ledger)) throw new Problem('internal', `event ${event.type} of ${stream} did not pass redaction`);
  }
}
