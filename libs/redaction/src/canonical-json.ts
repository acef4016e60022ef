import { Problem } from '@fluidbox/contracts';

/** Deeper values are refused instead of exhausting the stack: JSON.parse accepts far more nesting than recursion does. */
export const canonicalDepthMax = 512;

/**
 * RFC 8785 (JCS) text of a JSON value: one value, one text, so a digest of it means the value. Members are sorted by UTF-16 code units;
 * numbers and strings are written as ECMAScript writes them, which is what the RFC prescribes. Members that are `undefined` are absent.
 * Throws on what JSON cannot say (NaN, bigint, a lone surrogate, a Date …): a silent conversion would give two values one digest.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'string':
      return writeString(value);
    case 'number':
      if (!Number.isFinite(value)) throw refused(`${value} is not a JSON number`);
      return String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (depth >= canonicalDepthMax) throw refused(`nested deeper than ${canonicalDepthMax}`);
      return Array.isArray(value) ? writeArray(value, depth) : writeObject(value, depth);
    default:
      throw refused(`a ${typeof value} is not a JSON value`);
  }
}

/** Printable ASCII without quote and backslash stands for itself: most text, and five times faster than JSON.stringify. */
const plain = /^[ !#-[\]-~]*$/;

function writeString(text: string): string {
  if (text.length < 256 && plain.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw refused('text has a lone surrogate');
  return JSON.stringify(text);
}

function writeArray(items: readonly unknown[], depth: number): string {
  let text = '[';
  for (let i = 0; i < items.length; i++) text += (i === 0 ? '' : ',') + write(items[i], depth + 1);
  return `${text}]`;
}

function writeObject(object: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null)
    throw refused(`a ${object.constructor?.name ?? 'foreign'} object is not a JSON value`);
  const members = object as Record<string, unknown>;
  let text = '{';
  for (const key of sortedKeys(members)) {
    const member = members[key];
    if (member === undefined) continue;
    text += (text.length === 1 ? '' : ',') + writeName(key) + write(member, depth + 1);
  }
  return `${text}}`;
}

/** Member names repeat for ever: their text with the colon is remembered, up to a bound. */
const names = new Map<string, string>();
const namesMax = 4_096;
const nameCharsMax = 64;

function writeName(key: string): string {
  const known = names.get(key);
  if (known !== undefined) return known;
  const text = `${writeString(key)}:`;
  if (key.length <= nameCharsMax && names.size < namesMax) names.set(key, text);
  return text;
}

/** Most objects are small and nearly in order: insertion sort beats the engine's sort there. */
function sortedKeys(members: object): string[] {
  const keys = Object.keys(members);
  if (keys.length > 32) return keys.sort();
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string;
    let at = i;
    for (; at > 0 && (keys[at - 1] as string) > key; at--) keys[at] = keys[at - 1] as string;
    keys[at] = key;
  }
  return keys;
}

const refused = (detail: string): Problem => new Problem('unprocessable', `cannot be written as canonical JSON: ${detail}`);
