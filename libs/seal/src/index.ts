export { keyBytes } from './aead';
export type { ContentClass, Keyring, RunKeys, WrappedRunKeys } from './api';
export { apiTokenPattern, generateApiToken, hashApiToken, matchesApiToken, sameSecret } from './api-tokens';
export { signCheckpoint, verifyCheckpoint } from './checkpoints';
export { saltedDigest, sha256Hex } from './digest';
export { generateKekFile, type KeyEncryptionKey, kekFromBytes, loadKek } from './kek';
export { type GrantedKeyring, grantedKeyring, storedKeyring } from './keyring';
export { createRunKeys, grantedRunKeys, openRunKeys } from './run-keys';
export {
  createRunTokenVerifier,
  type RunTokenCheck,
  type RunTokenFailure,
  type RunTokenGrant,
  type RunTokenVerifier,
  runTokenIssuer,
  runTokenType,
  signRunToken,
} from './run-tokens';
export { readSecretFile, writeSecretFile } from './secret-file';
export { generateSigningKey, generateSigningKeyFiles, loadPublicKeys, loadSigningKey, PublicKeySet, type SigningKey } from './signing-keys';
export { uuidV5 } from './uuid';
