import { Problem } from '@fluidbox/contracts';

/**
 * A request body as JSON. Fastify's own parser answers a body that is no JSON and one with `__proto__` in it alike; here the second is a 422 that
 * says so, because it is well-formed, and an agent that wrote it must learn why its call is denied. An empty body is no body.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const text = bytes.toString('utf8');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Problem('invalid_request', 'body: is not JSON');
  }
  if (mayNamePrototype.test(text)) refusePrototype(body, '');
  return body;
}

/** Written out or escaped; most bodies hold neither and are not searched. */
const mayNamePrototype = /__proto__|\\u005f/i;

/** Whoever copies an object with this key member by member changes the prototype of the copy. */
function refusePrototype(node: unknown, pointer: string): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, child] of Object.entries(node)) {
    const at = `${pointer}/${key}`;
    if (key === '__proto__')
      throw new Problem('unprocessable', `${at}: this key is refused`, { errors: [{ pointer: at, detail: 'this key is refused' }] });
    refusePrototype(child, at);
  }
}
