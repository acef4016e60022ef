/** `missing`: required and absent or wrong. `warn`: works, but worse or not for long. */
export type FindingStatus = 'ok' | 'warn' | 'missing';

export interface Finding {
  readonly name: string;
  readonly status: FindingStatus;
  /** What was seen. */
  readonly found: string;
  /** What to type or change; present unless ok. */
  readonly fix?: string;
}

export const ok = (name: string, found: string): Finding => ({ name, status: 'ok', found });
export const warn = (name: string, found: string, fix: string): Finding => ({ name, status: 'warn', found, fix });
export const missing = (name: string, found: string, fix: string): Finding => ({ name, status: 'missing', found, fix });
