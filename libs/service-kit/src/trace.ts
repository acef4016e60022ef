import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;
const traceparents = new WeakMap<object, string>();

/** The W3C traceparent of a request: the caller's when it is well-formed, else a new one. The same for the whole request. */
export function traceparentOf(request: { readonly headers: IncomingHttpHeaders }): string {
  const known = traceparents.get(request);
  if (known !== undefined) return known;
  const given = request.headers.traceparent;
  const traceparent =
    typeof given === 'string' && traceparentPattern.test(given)
      ? given
      : `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
  traceparents.set(request, traceparent);
  return traceparent;
}

export const traceIdOf = (request: { readonly headers: IncomingHttpHeaders }): string => traceparentOf(request).split('-')[1] ?? '';
