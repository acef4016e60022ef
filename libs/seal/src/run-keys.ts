import { randomBytes } from 'node:crypto';
import { Problem } from '@fluidbox/contracts';
import { keyBytes, open, seal } from './aead';
import type { ContentClass, RunKeys, WrappedRunKeys } from './api';
import { saltedDigest } from './digest';
import type { KeyEncryptionKey } from './kek';

const columns = ['projection', 'rest', 'salt'] as const;
type Column = (typeof columns)[number];
type Material = Readonly<Record<Column, Buffer | null>>;

/** The stream and the column are authenticated: a wrapped key copied to another run or class does not open. */
const wrapAad = (stream: string, column: Column): string => `fluidbox/run-key/1/${stream}/${column}`;

/** Fresh keys of a stream and their wrapped form, to be stored with the event that creates the stream. */
export function createRunKeys(kek: KeyEncryptionKey, stream: string): { keys: RunKeys; wrapped: WrappedRunKeys } {
  const material = { projection: randomBytes(keyBytes), rest: randomBytes(keyBytes), salt: randomBytes(keyBytes) };
  const wrap = (column: Column): Buffer => kek.wrap(material[column], wrapAad(stream, column));
  return { keys: runKeysOf(stream, material), wrapped: { projection: wrap('projection'), rest: wrap('rest'), salt: wrap('salt') } };
}

export function openRunKeys(kek: KeyEncryptionKey, stream: string, wrapped: WrappedRunKeys): RunKeys {
  const unwrap = (column: Column): Buffer | null => {
    const bytes = wrapped[column];
    return bytes === null ? null : kek.unwrap(bytes, wrapAad(stream, column));
  };
  return runKeysOf(stream, { projection: unwrap('projection'), rest: unwrap('rest'), salt: unwrap('salt') });
}

/** Keys handed over by `runs.launch`: no projection key, so their holder cannot read what policy looked at. */
export function grantedRunKeys(stream: string, granted: { rest: string; salt: string }): RunKeys {
  const decode = (name: string, text: string): Buffer => {
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length !== keyBytes) throw new Problem('unprocessable', `keys.${name} of ${stream} must be ${keyBytes} bytes in base64`);
    return bytes;
  };
  return runKeysOf(stream, { projection: null, rest: decode('rest', granted.rest), salt: decode('salt', granted.salt) });
}

function runKeysOf(stream: string, material: Material): RunKeys {
  const needed = (column: Column): Buffer => {
    const bytes = material[column];
    if (bytes === null) throw new Problem('not_found', `the ${column} key of ${stream} is destroyed or was never granted`);
    return bytes;
  };
  return {
    digest: (value) => saltedDigest(needed('salt'), value),
    seal: (keyClass: ContentClass, plain, aad) => seal(needed(keyClass), plain, aad),
    open: (keyClass: ContentClass, sealed, aad) => {
      const key = material[keyClass];
      return key === null ? null : open(key, sealed, aad);
    },
    exportRest: () => ({ rest: needed('rest').toString('base64'), salt: needed('salt').toString('base64') }),
  };
}
