import { Problem } from '@fluidbox/contracts';
import type { Keyring, RunKeys, WrappedRunKeys } from './api';
import type { KeyEncryptionKey } from './kek';
import { createRunKeys, grantedRunKeys, openRunKeys } from './run-keys';

const cachedStreamsMax = 2_000;
/** How long another process may still use a key after it was destroyed. */
const cachedMs = 60_000;

/** Keyring of a KEK holder: `load` reads the wrapped keys of a stream. Opened keys stay in memory for a minute at most. */
export function storedKeyring(
  kek: KeyEncryptionKey,
  load: (stream: string) => Promise<WrappedRunKeys | null>,
  nowMs: () => number,
): Keyring {
  const cached = new Map<string, { keys: RunKeys; until: number }>();
  const keep = (stream: string, keys: RunKeys): RunKeys => {
    cached.delete(stream);
    cached.set(stream, { keys, until: nowMs() + cachedMs });
    const oldest = cached.size > cachedStreamsMax ? cached.keys().next().value : undefined;
    if (oldest !== undefined) cached.delete(oldest);
    return keys;
  };
  return {
    async keysOf(stream) {
      const hit = cached.get(stream);
      if (hit !== undefined && hit.until > nowMs()) return hit.keys;
      const wrapped = await load(stream);
      if (wrapped === null) throw new Problem('not_found', `no keys are stored for ${stream}`);
      return keep(stream, openRunKeys(kek, stream, wrapped));
    },
    // Not cached: the group that stores them may still be refused.
    create: (stream) => createRunKeys(kek, stream),
  };
}

/** Keyring of a service that holds no KEK: it knows only what it was granted, and cannot create. */
export interface GrantedKeyring extends Keyring {
  grant(stream: string, keys: { rest: string; salt: string }): RunKeys;
  forget(stream: string): void;
}
export function grantedKeyring(service: string): GrantedKeyring {
  const granted = new Map<string, RunKeys>();
  return {
    async keysOf(stream) {
      const keys = granted.get(stream);
      if (keys === undefined) throw new Problem('forbidden', `${service} was granted no keys of ${stream}`);
      return keys;
    },
    create(stream) {
      throw new Problem('forbidden', `${service} holds no key-encryption key and cannot create ${stream}`);
    },
    grant(stream, keys) {
      const opened = grantedRunKeys(stream, keys);
      granted.set(stream, opened);
      return opened;
    },
    forget(stream) {
      granted.delete(stream);
    },
  };
}
