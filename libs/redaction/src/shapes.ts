/**
 * What a secret looks like. A shape that needs a name beside it (`password=`) keeps the name and marks the value only: capture group 1.
 *
 * Every alternative is linear: its prefix is literal or guarded by a lookbehind, its repetitions are over one class, and one that can
 * fail after a long scan (a JWT without dots) starts only at the beginning of a token. Digests (`sha256:<hex>`), uuids, commit ids and
 * file names stay: they are evidence.
 */
const secretName =
  '(?:pass(?:word|wd|phrase|code)|pwd|secret|(?<!page[_-]?)token|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|client[_-]?secret|credential)';
const bareValue = String.raw`[^\s"'\x60$<>(){}\[\],;&|\\‹]`;

const standalone = [
  String.raw`(?<![A-Za-z0-9])sk-(?:ant-[\w-]{8,}|proj-[\w-]{16,}|(?=[\w-]{0,80}\d)[\w-]{20,})`,
  // Ours: hexadecimal or base64url; a later kind too, unless it reads like an identifier.
  String.raw`fbx_(?:(?:sess|trig|web|pat|whsec|admin)_[\w-]{8,}|[a-z]{2,12}_(?=[\w-]{0,80}[0-9A-Z])[\w-]{8,})`,
  'gh[opsur]_[A-Za-z0-9]{20,}',
  String.raw`github_pat_\w{20,}`,
  String.raw`glpat-[\w-]{20,}`,
  'npm_[A-Za-z0-9]{36,}',
  'npg_[A-Za-z0-9]{8,}',
  '(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{16,}',
  'whsec_[A-Za-z0-9+/=_-]{16,}',
  '(?<![A-Za-z0-9])A(?:K|S)IA[A-Z0-9]{16}(?![A-Za-z0-9])',
  'xox[abeoprs]-[A-Za-z0-9-]{10,}',
  String.raw`xapp-\d-[A-Za-z0-9-]{10,}`,
  String.raw`hooks\.slack\.com/services/[\w/]{20,}`,
  String.raw`AIza[\w-]{35}`,
  String.raw`ya29\.[\w-]{20,}`,
  String.raw`GOCSPX-[\w-]{20,}`,
  String.raw`[\w~.-]{3}8Q~[\w~.-]{31,34}`,
  String.raw`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)`,
];
// Header, payload and signature (a JWE has two parts more). A checkpoint JWS has this shape too; `redact.ts` lets it stay.
const jwtShape = String.raw`(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]+){0,2}`;

const named = [
  '([?&]sig=)[A-Za-z0-9%+/=_-]{20,}',
  String.raw`(://[^\s:/@"']{0,256}:)[^\s/@"']{1,256}(?=@)`,
  String.raw`([Aa]uthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:[Bb]asic|[Tt]oken)\s{1,4})[A-Za-z0-9._~+/=-]{6,}`,
];
const namedAnyCase = [
  String.raw`(\bbearer\s{1,4})[A-Za-z0-9._~+/=-]{16,}`,
  String.raw`(${secretName}["']?\s{0,3}[:=]\s{0,3}")[^"\s‹][^"\r\n]{2,}(?=")`,
  String.raw`(${secretName}["']?\s{0,3}[:=]\s{0,3}')[^'\s‹][^'\r\n]{2,}(?=')`,
  String.raw`(${secretName}=)${bareValue}{4,}(?![(.\w])`,
  String.raw`(${secretName}["']?\s{0,3}[:=]\s{1,3})(?=\S{0,60}\d)${bareValue}{8,}(?![(.\w])`,
  String.raw`((?<![\w-])--?${secretName}\s{1,4}["']?)(?!-)${bareValue}{4,}`,
];

/** One pass over one text. Group 1 of a named shape is the part that stays. */
export const exactCaseShapes = new RegExp(`${standalone.join('|')}|${jwtShape}|${named.join('|')}`, 'g');
export const anyCaseShapes = new RegExp(namedAnyCase.join('|'), 'gi');
/** Shapes that are known by their own prefix, looked for across the strings of one value. */
export const splitShapes = new RegExp(`${standalone.join('|')}|${jwtShape}`, 'g');

/** The element before a secret in a list of arguments: an option that takes one, or a header whose value was cut off behind its scheme. */
export const secretArgument = new RegExp(`^--?[\\w-]*${secretName}$|\\bbearer\\s*$`, 'i');

/** A member with such a name holds a secret whatever it looks like. */
export const secretKey = new RegExp(`(?:${secretName}|^(?:proxy-)?authorization)$`, 'i');

/**
 * What must stand in a text before any shape can match it: a text without a hint needs no scrubbing, and nearly no text has one. Four
 * expressions with literals of one length each, because the engine skips through a text only then (one large alternation with the shapes'
 * own prefixes was 4 times slower, lookbehinds 20 times). The test gives every shape to them.
 */
const hints = [
  /A[KS]IA|AIza|ya29|GOCSPX|8Q~|eyJ|sig=|:\/\/|\.slack/,
  /bx_|h[opsur]_|ub_pat|p[mg]_|[rs]k_(?:live|test)|ec_[\w+/=-]{16}|sk-[\w-]{8}|at-[\w-]{20}|x[abeoprs]-|pp-\d|---BEGIN/,
  /passw|passp|passc|secre|token(?!s)|crede|beare|autho/i,
  /pwd|pi[_-]?key|ss[_-]?key|nt[_-]?key|te[_-]?key/i,
];
export const hasHint = (text: string): boolean => hints.some((hint) => hint.test(text));

/** Whole strings that are evidence and never a secret: digest, uuid, timestamp. */
export const evidence = /^(?:sha256:[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)$/;

/** AWS secret keys have no prefix. Beside their key id (AKIA…, ASIA…) a token of their length and mixture is one; commit ids are lower case. */
export const awsKeyId = /(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])/;
export const awsSecretCandidate = /(?<![A-Za-z0-9/+=_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])/g;
