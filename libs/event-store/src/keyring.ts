import { type KeyEncryptionKey, type Keyring, storedKeyring } from '@fluidbox/seal';
import type { Clock, EventStore } from './api';

/** The keyring of a KEK holder: reads `ledger.run_keys` through the store. */
export const createKekKeyring = (options: {
  readonly store: Pick<EventStore, 'wrappedKeys'>;
  readonly kek: KeyEncryptionKey;
  readonly clock: Clock;
}): Keyring =>
  storedKeyring(
    options.kek,
    (stream) => options.store.wrappedKeys(stream),
    () => options.clock.now().getTime(),
  );
