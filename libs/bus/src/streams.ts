import { type CallMapEntry, logStreamName, witnessStreamName } from '@fluidbox/contracts';
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';

const days = 24 * 60 * 60 * 1000;
const mebibytes = 1024 * 1024;

const log = {
  name: logStreamName,
  subjects: ['fb.log.>'],
  max_age: nanos(3 * days),
  max_bytes: 512 * mebibytes,
  duplicate_window: nanos(120_000),
};
/** Kept as long as there is room: what was witnessed must not be deleted or rewritten by a service. */
const witness = { name: witnessStreamName, subjects: ['fb.witness.>'], max_bytes: 64 * mebibytes, deny_delete: true, deny_purge: true };

/**
 * Creates LOG and WITNESS, where the service owns them; the others work without. An operator may raise sizes and replicas: only subjects and age
 * are set again.
 */
export async function ensureStreams(connection: NatsConnection, entry: CallMapEntry): Promise<void> {
  if (entry.republishes !== true) return;
  const manager = await jetstreamManager(connection);
  await ensureStream(manager, log);
  await ensureStream(manager, witness);
}

async function ensureStream(manager: JetStreamManager, config: typeof log | typeof witness): Promise<void> {
  const fixed = { retention: RetentionPolicy.Limits, storage: StorageType.File, discard: DiscardPolicy.Old };
  try {
    const { config: present } = await manager.streams.info(config.name);
    const age = 'max_age' in config ? config.max_age : present.max_age;
    if (present.max_age === age && present.subjects.join() === config.subjects.join()) return;
    await manager.streams.update(config.name, { subjects: config.subjects, max_age: age });
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.status !== 404) throw error;
    // Several processes create it at the same moment; with one configuration for all, that is no conflict.
    await manager.streams.add({ ...fixed, ...config });
  }
}
