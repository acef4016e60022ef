import type { ProcessIdentity } from './identity.cjs';

export interface LockHolder extends ProcessIdentity {
  /** ISO 8601. */
  readonly since: string;
}
/** The living holder of a lock file, or undefined. */
export declare function holderOf(file: string): LockHolder | undefined;
/** Takes the lock: `release`, or `holder` when a living process has it. `info` is stored beside pid and start time. */
export declare function tryLock(
  file: string,
  info?: Readonly<Record<string, unknown>>,
): { readonly release: () => void; readonly holder?: never } | { readonly holder: LockHolder; readonly release?: never };
