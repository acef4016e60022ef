import { checkpointType } from '@fluidbox/contracts';
import { base64LengthMin, base64Runs, hasLongRun } from './base64-runs';
import {
  anyCaseShapes,
  awsKeyId,
  awsSecretCandidate,
  exactCaseShapes,
  hasHint,
  hasLongHint,
  hiddenShapes,
  hintedShapes,
  isEvidence,
  keyBegins,
  keyBetween,
  keyEnds,
  keyLine,
  longShapes,
  pairName,
  pairValue,
  secretArgument,
  secretKey,
  splitShapes,
} from './shapes';

/** What stands in place of a secret. Policy treats a value that holds it as unknown, so no allow can match it. */
export const redactionMark = '‹redacted›';

/** For loggers and other plain text. */
export function redactText(text: string): string {
  return hasHint(text) || mayHaveLong(text) || hidesSecret(text) ? scrubText(text, awsKeyId.test(text)) : text;
}

/** The value with every secret marked, in strings and in member names; the same value when it holds none. */
export function redactContent(value: unknown): unknown {
  const found: Found = { values: [], named: [], keys: [], suspect: false };
  collect(found, value, false, null);
  if (!found.suspect && !mayHoldSecret(found.values)) return value;
  const cleaned = scrubStrings(found);
  let next = 0;
  return rebuild(value, () => cleaned[next++] ?? redactionMark);
}

/** Evidence is most of what the ledger holds, and no part of a secret (see `scrubAcross`). Secrets cut into several strings show in all of them together. */
function mayHoldSecret(values: readonly string[]): boolean {
  let joined = '';
  for (const text of values) {
    if (isEvidence(text)) joined += '\0';
    else if (hidesSecret(text)) return true;
    else joined += text;
  }
  return hasHint(joined) || mayHaveLong(joined);
}

/** Member names repeat for ever: those that were found plain are remembered, up to a bound. */
const plainKeys = new Set<string>();
const rememberedMax = 4_096;
const rememberedCharsMax = 64;
function isPlainKey(key: string): boolean {
  if (plainKeys.has(key)) return true;
  if (hasHint(key) || mayHaveLong(key) || hidesSecret(key)) return false;
  if (key.length <= rememberedCharsMax && plainKeys.size < rememberedMax) plainKeys.add(key);
  return true;
}

interface Found {
  readonly values: string[];
  /** Which values stand under a member whose name says "secret". */
  readonly named: boolean[];
  readonly keys: string[];
  /** A name that is not plain, or a named value: enough for a closer look. */
  suspect: boolean;
}

/** `named`: stands under a name that says "secret". `before`: the element before it in its list. */
function collect(found: Found, node: unknown, named: boolean, before: unknown): void {
  if (typeof node === 'string') {
    const marked = named || follows(before, node);
    found.values.push(node);
    found.named.push(marked);
    found.suspect ||= marked;
  } else if (Array.isArray(node)) {
    for (let i = 0; i < node.length; i++) collect(found, node[i], named, node[i - 1]);
  } else if (node !== null && typeof node === 'object') {
    const members = node as Record<string, unknown>;
    for (const name of Object.keys(members)) {
      found.keys.push(name);
      const plain = isPlainKey(name);
      found.suspect ||= !plain;
      collect(found, members[name], (!plain && secretKey.test(name)) || (pairValue.includes(name) && isSecretPair(members)), null);
    }
  }
}

const isSecretPair = (members: Readonly<Record<string, unknown>>): boolean => pairName.some((name) => isSecretName(members[name]));

/** `["--password", "…"]`: another option is no value. Long elements are texts, not options. */
const follows = (before: unknown, text: string): boolean =>
  typeof before === 'string' && before.length <= 256 && !text.startsWith('-') && hasHint(before) && secretArgument.test(before);

/** Of a pair that names what it holds. Not remembered: it is a value itself. */
const isSecretName = (said: unknown): boolean => typeof said === 'string' && said.length <= 256 && hasHint(said) && secretKey.test(said);

/** Whether the last key that begins in it does not end in it. */
function leavesKeyOpen(text: string): boolean {
  const begin = text.lastIndexOf('-----BEGIN ');
  return begin !== -1 && !text.includes('-----END ', begin) && keyBegins.test(text.slice(begin, begin + 128));
}

/** Marks the lines of a private key that stand in strings behind the one where it begins. */
function markKeyLines(strings: string[]): string[] {
  for (let begin = 0; begin < strings.length; begin += 1) {
    if (!leavesKeyOpen(strings[begin] ?? '')) continue;
    let end = begin + 1;
    while (end < strings.length && keyBetween.test(strings[end] ?? '')) end += 1;
    const ends = keyEnds.test(strings[end] ?? '');
    if (ends) strings[end] = (strings[end] ?? '').replace(keyEnds, redactionMark);
    for (let line = begin + 1; line < end && (ends || keyLine.test(strings[line] ?? '')); line += 1) strings[line] = redactionMark;
    begin = end - 1;
  }
  return strings;
}

function scrubStrings({ values, named, keys }: Found): string[] {
  const aws = values.some((text) => awsKeyId.test(text)) || keys.some((key) => awsKeyId.test(key));
  const lines = values.some(leavesKeyOpen) ? markKeyLines([...values]) : values;
  const cleaned = lines.map((text, i) =>
    named[i] === true && text !== '' ? redactionMark : isEvidence(text) ? text : scrubText(text, aws),
  );
  return scrubAcross(cleaned);
}

/** A secret cut into several strings (an argument list, say) has no shape in any of them, only in all of them together. */
function scrubAcross(strings: string[]): string[] {
  // Evidence never continues a secret: a NUL in its place ends every shape and keeps the offsets.
  const joined = strings.map((text) => (isEvidence(text) ? '\0'.repeat(text.length) : text)).join('');
  const cuts = [...joined.matchAll(splitShapes), ...(mayHaveLong(joined) ? joined.matchAll(longShapes) : [])]
    .filter(([match]) => !isCheckpoint(match))
    .sort((one, other) => one.index - other.index)
    .map((match) => ({ from: match.index, to: match.index + match[0].length }));
  if (cuts.length === 0) return strings;
  const apart = joinedCuts(cuts);
  let start = 0;
  let next = 0;
  return strings.map((text) => {
    const end = start + text.length;
    let kept = '';
    let at = start;
    for (let cut = apart[next]; cut !== undefined && cut.from < end; cut = apart[next]) {
      if (cut.to > start) kept += text.slice(at - start, Math.max(cut.from, start) - start) + redactionMark;
      at = Math.max(at, Math.min(cut.to, end));
      // One that goes on cuts the next string too.
      if (cut.to > end) break;
      next += 1;
    }
    kept += text.slice(at - start);
    start = end;
    return kept;
  });
}

interface Cut {
  readonly from: number;
  readonly to: number;
}
/** Two that overlap are one: in order and apart, all of them are walked through once, however many strings there are. */
function joinedCuts(cuts: readonly Cut[]): Cut[] {
  const apart: Cut[] = [];
  for (const cut of cuts) {
    const last = apart.at(-1);
    if (last !== undefined && cut.from < last.to) apart[apart.length - 1] = { from: last.from, to: Math.max(last.to, cut.to) };
    else apart.push(cut);
  }
  return apart;
}

function scrubText(text: string, aws: boolean): string {
  let scrubbed = markHidden(text).replace(exactCaseShapes, mark).replace(anyCaseShapes, mark);
  if (mayHaveLong(scrubbed)) scrubbed = scrubbed.replace(longShapes, mark);
  for (const { hint, shapes } of hintedShapes) if (hint.test(scrubbed)) scrubbed = scrubbed.replace(shapes, mark);
  return aws ? scrubbed.replace(awsSecretCandidate, (token) => (looksRandom(token) ? redactionMark : token)) : scrubbed;
}

/** A secret in base64 is one; twice encoded it is out of reach. */
const decodesToSecret = (run: string): boolean => {
  const plain = Buffer.from(run, 'base64').toString('latin1');
  return (hasHint(plain) || hasLongHint(plain)) && hiddenShapes.test(plain);
};
function hidesSecret(text: string): boolean {
  if (text.length < base64LengthMin || hidesNothing.has(text)) return false;
  if (base64Runs(text).some(({ from, to }) => decodesToSecret(text.slice(from, to)))) return true;
  if (text.length <= rememberedCharsMax) {
    if (hidesNothing.size >= rememberedMax) hidesNothing.clear();
    hidesNothing.add(text);
  }
  return false;
}
/** Short texts that were looked into: the name of a stream comes with each of its events. */
const hidesNothing = new Set<string>();
/** A secret of a maker whose secrets are long. */
const mayHaveLong = (text: string): boolean => hasLongRun(text) && hasLongHint(text);
function markHidden(text: string): string {
  let kept = '';
  let at = 0;
  for (const { from, to } of base64Runs(text)) {
    if (from < at || !decodesToSecret(text.slice(from, to))) continue;
    kept += text.slice(at, from) + redactionMark;
    at = to;
  }
  return kept === '' ? text : kept + text.slice(at);
}

/** Keeps what group 1 of a named shape captured (`password=`) and marks the rest. */
function mark(match: string, ...captures: readonly unknown[]): string {
  if (isCheckpoint(match)) return match;
  const kept = captures.find((capture) => typeof capture === 'string');
  // The arguments end with offset and whole text; a string before the offset is a capture.
  return captures.indexOf(kept) < captures.findIndex((capture) => typeof capture === 'number')
    ? `${String(kept)}${redactionMark}`
    : redactionMark;
}

function isCheckpoint(match: string): boolean {
  if (!match.startsWith('eyJ')) return false;
  return Buffer.from(match.slice(0, match.indexOf('.')), 'base64url')
    .toString('latin1')
    .includes(`"typ":"${checkpointType}"`);
}

/** Random base64 changes its character class at about 24 of 39 places, names and paths at far fewer. */
function looksRandom(token: string): boolean {
  // Commit ids are hexadecimal of one case.
  if (!/[A-Z]/.test(token) || !/[a-z]/.test(token)) return false;
  const classOf = (char: string): string =>
    char >= 'a' && char <= 'z' ? 'a' : char >= 'A' && char <= 'Z' ? 'A' : char >= '0' && char <= '9' ? '0' : '/';
  let changes = 0;
  for (let i = 1; i < token.length; i++) if (classOf(token.charAt(i)) !== classOf(token.charAt(i - 1))) changes++;
  return changes >= 15;
}

function rebuild(value: unknown, nextString: () => string, key: string | null = null): unknown {
  if (typeof value === 'string') return nextString();
  // A PIN or a code; counts are never called by such a name alone.
  if (typeof value === 'number') return key !== null && !isPlainKey(key) && secretKey.test(key) ? redactionMark : value;
  if (Array.isArray(value)) return value.map((item) => rebuild(item, nextString, key));
  if (value === null || typeof value !== 'object') return value;
  const members = new Map<string, unknown>();
  const numbers = new Map<string, number>();
  for (const [name, member] of Object.entries(value))
    members.set(freeName(redactText(name), members, numbers), rebuild(member, nextString, name));
  return Object.fromEntries(members);
}

/** Two secret names would become one mark and lose a member. `numbers`: the last that each name got, so that many are not counted through for each. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>, numbers: Map<string, number>): string {
  if (!taken.has(name)) return name;
  let n = (numbers.get(name) ?? 1) + 1;
  while (taken.has(`${name}${n}`)) n += 1;
  numbers.set(name, n);
  return `${name}${n}`;
}
