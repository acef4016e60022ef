export type { ContentClass, Keyring, RunKeys, WrappedRunKeys } from './api';
export { generateApiToken, hashApiToken, sameSecret } from './api-tokens';
export { type Bundle, bundleLines } from './bundle';
export { signCheckpoint, verifyCheckpoint } from './checkpoints';
export { saltedDigest, sha256Hex } from './digest';
export { fieldDigests } from './field-digests';
export { generateKekFile, type KeyEncryptionKey, kekFromBytes, loadKek } from './kek';
export { type GrantedKeyring, grantedKeyring, storedKeyring } from './keyring';
export { RandomPool } from './random-pool';
export { createRunKeys } from './run-keys';
export {
  createRunTokenVerifier,
  type RunTokenFailure,
  type RunTokenGrant,
  type RunTokenVerifier,
  signRunToken,
} from './run-tokens';
export { readSecretFile, writeSecretFile } from './secret-file';
export {
  generateSigningKey,
  generateSigningKeyFiles,
  loadPublicKeys,
  loadSigningKey,
  type PublicKeySet,
  type SigningKey,
} from './signing-keys';
export { uuidV5 } from './uuid';
