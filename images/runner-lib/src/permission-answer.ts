import { PermissionAnswer } from '@fluidbox/contracts';
import type { Reply } from './transport';

/** Anything that is not a clear allow is a deny, or worth asking again. */
export type PermissionReading = PermissionAnswer | 'retry';

const deny = (message: string): PermissionAnswer => ({ decision: 'deny', message });

/**
 * Reads a final reply of `/permission`. Padding (spaces while a human thinks) parses away as JSON white space; an answer of
 * nothing but padding means the control plane lost its thread, so the same id is asked again.
 */
export function readPermissionReply({ status, body }: Reply): PermissionReading {
  if (status === 401 || status === 403) return deny('session is not active');
  if (status === 409) return deny('this sandbox has been replaced by a newer one');
  if (status !== 200) return deny(`the gate refused the request with status ${status}: ${body.slice(0, 500)}`);
  if (body.trim() === '') return 'retry';
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return deny('the gate answered with something that is not JSON');
  }
  const parsed = PermissionAnswer.safeParse(value);
  return parsed.success ? parsed.data : deny('the gate answered with an unknown decision');
}
