import { Problem } from '@fluidbox/contracts';

/**
 * A request body as JSON. Fastify's own parser answers a body that is no JSON and one with `__proto__` in it alike; here the second is a 422 that
 * says so, because it is well-formed, and an agent that wrote it must learn why its call is denied. An empty body is no body.
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  const text = bytes.toString('utf8');
  if (isDeeperThan(bodyDepthMax, bytes)) throw new Problem('unprocessable', `body: is nested deeper than ${bodyDepthMax}`);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Problem('invalid_request', 'body: is not JSON');
  }
  if (mayNamePrototype.test(text)) refusePrototype(body, '');
  return body;
}

/** Nothing honest is nested like that, and whatever walks a value recursively would end in an overflow. */
const bodyDepthMax = 128;
const [quote, backslash, openBracket, closeBracket, openBrace, closeBrace] = [...'"\\[]{}'].map((sign) => sign.charCodeAt(0));

/** Counts brackets outside strings; on text that is no JSON the answer means nothing and the parser has the word. */
function isDeeperThan(max: number, bytes: Buffer): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const sign = bytes[at];
    if (quoted) {
      if (sign === backslash) at += 1;
      else if (sign === quote) quoted = false;
    } else if (sign === quote) quoted = true;
    else if (sign === openBracket || sign === openBrace) {
      depth += 1;
      if (depth > max) return true;
    } else if (sign === closeBracket || sign === closeBrace) depth -= 1;
  }
  return false;
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
