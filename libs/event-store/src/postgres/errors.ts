import { Problem } from '@fluidbox/contracts';

/** What a failed statement means for its caller. Classified once, here. */
export type Failure =
  /** Not stored, or stored without our hearing of it: try again, the event ids make that safe. */
  | 'retry'
  /** One of the events was stored before. */
  | 'duplicate'
  /** The database cannot store now, and trying again at once would not help. */
  | 'refused'
  | 'bug';

const retryStates = new Set([
  '40001',
  '40P01',
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '25P03',
  '55P03',
  '53300',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
]);
const networkCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const lostConnection =
  /Connection terminated|Client has encountered a connection error|Client was closed|timeout exceeded when trying to connect|not queryable/;

const codeOf = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
const constraintOf = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'constraint' in error && typeof error.constraint === 'string'
    ? error.constraint
    : undefined;

export function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  if (code === '23505') return constraintOf(error) === 'events_event_id' ? 'duplicate' : 'bug';
  // Disk full, out of memory, read-only standby.
  if (code !== undefined && (code.startsWith('53') || code === '25006') && code !== '53300') return 'refused';
  if (code !== undefined && (retryStates.has(code) || networkCodes.has(code))) return 'retry';
  if (error instanceof Error && lostConnection.test(error.message)) return 'retry';
  return 'bug';
}

export const unavailable = (doing: string, cause: unknown): Problem =>
  new Problem('unavailable', `${doing}: the database does not answer (${cause instanceof Error ? cause.message : String(cause)})`, {
    cause,
  });
