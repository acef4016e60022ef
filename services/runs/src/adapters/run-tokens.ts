import { loadSigningKey, signRunToken } from '@fluidbox/seal';
import type { Ports } from '../app/ports';

/** The only signer of run tokens: this service alone is given the private key. */
export function runTokenSigner(keyFile: string): Ports['signToken'] {
  const key = loadSigningKey(keyFile);
  return (grant) => signRunToken(key, grant);
}
