import callMap from '../call-map.json';
import type { ServiceName } from './deployment';
import type { StreamCategory } from './timeline';

/** Who calls whom over NATS. The committed file is the contract: permissions are made from it and a test compares it with the code. */
export interface CallMapEntry {
  /** `<service>.<command>` this service sends. */
  readonly calls: readonly string[];
  /** Stream categories whose batches it publishes after commit. */
  readonly appends: readonly StreamCategory[];
  /** Log categories it follows, live or durably. */
  readonly follows: readonly StreamCategory[];
  /** Publishes gaps of every category again, and heads; owns the JetStream streams that keep both. */
  readonly republishes?: boolean;
}
export const callMapEntries = callMap as Record<ServiceName, CallMapEntry>;

/**
 * JetStream's API, for the one service that owns the streams. Whoever may configure a stream may let it capture every subject, inboxes with
 * launch answers included, and republish under any other, past all rights below; nobody reads the streams by a consumer.
 */
const streamOwnerSubjects = [
  '$JS.API.INFO',
  ...['LOG', 'WITNESS'].flatMap((stream) => ['INFO', 'CREATE', 'UPDATE'].map((verb) => `$JS.API.STREAM.${verb}.${stream}`)),
];

/** NATS permissions of one service's user. */
export function natsPermissions(service: ServiceName): { publish: string[]; subscribe: string[] } {
  const entry = callMapEntries[service];
  const publish = entry.calls.map((call) => `fb.cmd.${call}`);
  for (const category of entry.appends) publish.push(`fb.log.${category}.>`);
  if (entry.republishes === true) publish.push('fb.log.>', 'fb.witness.>', ...streamOwnerSubjects);
  // Replies go to the caller's own inbox prefix; NATS lets a responder answer what it received (allow_responses), nothing else.
  return { publish, subscribe: [`fb.cmd.${service}.>`, ...entry.follows.map((category) => `fb.log.${category}.>`), `_INBOX_${service}.>`] };
}
