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
  /** Publishes gaps of every category again, and heads. */
  readonly republishes?: boolean;
}
export const callMapEntries = callMap as Record<ServiceName, CallMapEntry>;

/** NATS permissions of one service's user. JetStream's API is open only where the service follows the log durably. */
export function natsPermissions(service: ServiceName): { publish: string[]; subscribe: string[] } {
  const entry = callMapEntries[service];
  const publish = entry.calls.map((call) => `fb.cmd.${call}`);
  for (const category of entry.appends) publish.push(`fb.log.${category}.>`);
  if (entry.republishes === true) publish.push('fb.log.>', 'fb.witness.>');
  // JetStream: every service creates its own consumer on LOG and publishes with acknowledgement; the projector also owns WITNESS.
  publish.push('$JS.API.INFO', '$JS.API.STREAM.INFO.LOG', '$JS.API.STREAM.CREATE.LOG', '$JS.API.STREAM.UPDATE.LOG', '$JS.API.STREAM.NAMES');
  publish.push(
    `$JS.API.CONSUMER.*.LOG.${service}`,
    `$JS.API.CONSUMER.*.LOG.${service}.>`,
    `$JS.API.CONSUMER.MSG.NEXT.LOG.${service}`,
    `$JS.ACK.LOG.${service}.>`,
    '$JS.FC.>',
  );
  if (entry.republishes === true)
    publish.push('$JS.API.STREAM.INFO.WITNESS', '$JS.API.STREAM.CREATE.WITNESS', '$JS.API.STREAM.UPDATE.WITNESS');
  // Replies go to the caller's own inbox prefix; NATS lets a responder answer what it received (allow_responses), nothing else.
  return { publish, subscribe: [`fb.cmd.${service}.>`, ...entry.follows.map((category) => `fb.log.${category}.>`), `_INBOX_${service}.>`] };
}
