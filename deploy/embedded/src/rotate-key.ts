import { generateKeyPairSync } from 'node:crypto';
import { EmbeddedFailure } from './embedded-failure';
import { readJsonIfPresent, writeFileAtomically } from './files';
import { holdFolder } from './holder';
import { homeLayout } from './layout';
import { publicJwk, secretFiles } from './secrets';

/**
 * A new key that signs the record. Its public part joins those that are published, which stay for ever: what they signed must stay verifiable. Only while no
 * stack runs on the folder, because a running one signs on with the key it has read. The old private key is gone afterwards.
 */
export function rotateLedgerKey(home: string): { kid: string; file: string } {
  const layout = homeLayout(home);
  const files = secretFiles(layout.secrets);
  // Before the folder is made by holding it.
  publishedKeys(files.ledgerPublicKeys);
  const release = holdFolder(layout);
  try {
    const { privateKey } = generateKeyPairSync('ed25519');
    const key = publicJwk(privateKey);
    // First: a key that signs and is published nowhere would leave a record that nobody can check.
    writeFileAtomically(files.ledgerPublicKeys, JSON.stringify({ keys: [...publishedKeys(files.ledgerPublicKeys), key] }));
    writeFileAtomically(files.ledgerKey, privateKey.export({ format: 'pem', type: 'pkcs8' }).toString());
    return { kid: key.kid, file: files.ledgerPublicKeys };
  } finally {
    release();
  }
}

function publishedKeys(file: string): readonly unknown[] {
  const set = readJsonIfPresent(file) as { keys?: unknown } | undefined;
  if (!Array.isArray(set?.keys))
    throw new EmbeddedFailure(`${file} is not there or no key set. Fix: start the stack once, or restore the file`);
  return set.keys;
}
