/**
 * Envelope encryption, token hashing, run tokens and key files.
 * AES-256-GCM, random 96-bit nonce, AAD = org, stream, class, event id.
 */

/** What a holder of a run's keys can do. `projection` and `rest` are two keys, so that they can be destroyed at different times. */
export interface RunKeys {
  /** Salted digest of a JSON value: SHA-256(salt ‖ JCS bytes) as `sha256:<hex>`. No oracle once the salt is gone. */
  digest(value: unknown): string;
  seal(keyClass: ContentClass, plain: Buffer, aad: string): Buffer;
  /** Null when that key was destroyed. */
  open(keyClass: ContentClass, sealed: Buffer, aad: string): Buffer | null;
  /** Key material for another process of the same run (launch answer, archives): base64. */
  exportRest(): { rest: string; salt: string };
}
export type ContentClass = 'projection' | 'rest';

/** As stored in `ledger.run_keys`: wrapped by the KEK. A null column is a destroyed key. */
export interface WrappedRunKeys {
  readonly projection: Buffer | null;
  readonly rest: Buffer | null;
  readonly salt: Buffer | null;
}

/** Finds the keys of a stream. KEK holders read and unwrap `run_keys`; the scheduler holds only what `runs.launch` handed it. */
export interface Keyring {
  keysOf(stream: string): Promise<RunKeys>;
  /** Fresh keys for a stream that is about to be created; the appender stores `wrapped` in the same statement. */
  create(stream: string): { keys: RunKeys; wrapped: WrappedRunKeys };
}
