/**
 * What a secret looks like. A shape that needs a name beside it (`password=`) keeps the name and marks the value only: capture group 1.
 *
 * Every alternative is linear: its prefix is literal or guarded by a lookbehind, its repetitions are over one class, and one that can
 * fail after a long scan (a JWT without dots) starts only at the beginning of a token. Digests (`sha256:<hex>`), uuids, commit ids and
 * file names stay: they are evidence.
 */
const keyKinds = 'api|access|account|private|secret|encryption|signing|session|client|master|storage';
const passOwners = 'db|database|smtp|e?mail|user|admin|root|redis|mysql|mongo|postgres|pg|ftp|ssh|ldap|proxy';
const secretName = `(?:pass(?:word|wd|phrase|code)|pwd|secret(?:[_-]?key[_-]?base)?|(?<!page[_-]?)token|(?:${keyKinds})[_-]?key|(?:${passOwners})[_-]?pass|_auth|client[_-]?key[_-]?data|credential)`;
/** What stands behind `password:` and is none. */
const noPassword =
  '(?:string|strings|required|optional|boolean|number|integer|object|unknown|undefined|nullable|password|passwords|secret|secrets|prompt|hidden|masked|redacted|encrypted|hashed|invalid|incorrect|missing|forgotten|unchanged|changed|expired|disabled|enabled|default|generated|plaintext|varchar|character)';
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
  // Other makers whose prefix says enough; the digit tells a key from a name in code.
  String.raw`(?<![A-Za-z0-9])(?:hf_|gsk_|r8_|dckr_pat_|lin_api_|shp(?:at|ca|pa|ss)_|do[opr]_v1_|tskey-(?:auth|api|client)-|xai-|pul-|PMAK-|NRAK-|HRKU-|sq0(?:atp|csp|idp)-|gl(?:rt|dt|cbt|ptt|ft|soat)-|sntrys_|ATATT3)(?=[\w-]{0,40}\d)[\w=+/-]{16,}`,
  String.raw`(?<![A-Za-z0-9])secret_(?=[A-Za-z]{0,42}\d)[A-Za-z0-9]{43}(?![A-Za-z0-9])`,
  '(?<![A-Za-z0-9])(?:glc|ops)_eyJ[A-Za-z0-9+/=_-]{32,}',
  String.raw`(?<![A-Za-z0-9])SG\.[\w-]{16,}\.[\w-]{16,}`,
  String.raw`(?<![A-Za-z0-9])hv[sb]\.[\w-]{20,}`,
  'pypi-AgE[A-Za-z0-9_-]{16,}',
  'AGE-SECRET-KEY-1[A-Z0-9]{20,}',
  String.raw`(?<!\d)\d{8,10}:AA[\w-]{30,}`,
  String.raw`discord(?:app)?\.com/api/webhooks/\d{6,20}/[\w-]{12,}`,
  // A PEM key in base64, as in a kubeconfig or a Kubernetes secret.
  'LS0tLS1CRUdJTiB(?:QUklW|SU0Eg|FQyBQ|PUEVO|FTkNS|EU0Eg|QR1AgUFJJ)[A-Za-z0-9+/=_-]{8,}',
  '(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{16,}',
  'whsec_[A-Za-z0-9+/=_-]{16,}',
  '(?<![A-Za-z0-9])A(?:K|S)IA[A-Z0-9]{16}(?![A-Za-z0-9])',
  '(?<![A-Za-z0-9])LTAI[A-Za-z0-9]{20}(?![A-Za-z0-9])',
  'xox[abdeoprs]-[A-Za-z0-9%-]{10,}',
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
  // Up to the last @: passwords hold that too.
  String.raw`(://[^\s:/@"']{0,256}:)[^\s/"']{1,256}(?=@)`,
  // A token as the user of a URL.
  String.raw`(://)(?=[\w-]{0,80}\d)[\w-]{20,256}(?=@)`,
];
const namedAnyCase = [
  String.raw`(\bauthorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:basic|token|bearer|digest|negotiate|api-?key|key)\s{1,4})[A-Za-z0-9._~+/=-]{6,}`,
  String.raw`(\bauthorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)(?=[\w.~+/=-]{0,80}\d)[\w.~+/=-]{16,}(?![(\w])`,
  String.raw`(\bbearer\s{1,4})[A-Za-z0-9._~+/=-]{16,}`,
  // The header with its pairs; code that only speaks of a cookie has no pair.
  String.raw`(\b(?:set-)?cookie["']?:\s{0,3}["']?[\w.-]{1,64}=)[^"'\s‹][^"'\r\n]{3,}`,
  // Inside a text that is quoted itself the quotes are escaped.
  String.raw`(${secretName}\\{1,3}"\s{0,3}[:=]\s{0,3}\\{1,3}")[^"\\\s‹][^"\\\r\n]{2,}(?=\\{1,3}")`,
  String.raw`(${secretName}["']?\s{0,3}[:=]\s{0,3}")[^"\s‹][^"\r\n]{2,}(?=")`,
  String.raw`(${secretName}["']?\s{0,3}[:=]\s{0,3}')[^'\s‹][^'\r\n]{2,}(?=')`,
  String.raw`(${secretName}["']?\s{0,3}[:=]\s{0,3}\x60)[^\x60\s‹$][^\x60\r\n]{2,}(?=\x60)`,
  String.raw`(<${secretName}>)[^<\s‹][^<\r\n]{2,}(?=</)`,
  String.raw`("auth"\s{0,3}:\s{0,3}")[A-Za-z0-9+/=]{8,}(?=")`,
  String.raw`(\bmachine\s{1,4}\S{1,128}\s{1,4}login\s{1,4}\S{1,128}\s{1,4}password\s{1,4})[^\s‹]\S{2,}`,
  String.raw`(\baws_(?:secret_access_key|session_token)\s{1,4})[\w+/=]{16,}`,
  // What programs take on the command line.
  String.raw`(\bcurl\b[^\r\n|;&]{0,200}?\s(?:-u|--user|--proxy-user)[\s=]{1,2}["']?[^\s:"'$]{1,64}:)[^\s"'$‹]{3,}`,
  String.raw`(\bcurl\b[^\r\n|;&]{0,200}?\s(?:-b|--cookie)[\s=]{1,2}["']?[\w.-]{1,64}=)[^"'\s$‹][^"'\r\n]{3,}`,
  String.raw`(\bsshpass\s{1,4}-p\s{0,2}["']?)[^\s"'$‹]{3,}`,
  String.raw`(\b(?:docker|podman)\s{1,4}login\b[^\r\n|;&]{0,200}?\s-p\s{1,4}["']?)[^\s"'$‹]{3,}`,
  String.raw`(\bredis-cli\b[^\r\n|;&]{0,200}?\s-a\s{1,4}["']?)[^\s"'$‹]{3,}`,
  String.raw`(\bmysql(?:dump|admin)?\b[^\r\n|;&]{0,200}?\s-p["']?)[^\s"'$‹-][^\s"'$‹]{2,}`,
  String.raw`(${secretName}=)${bareValue}{4,}(?![(.\w])`,
  String.raw`(${secretName}["']?\s{0,3}[:=]\s{1,3})(?=\S{0,60}\d)${bareValue}{6,}(?![(.\w])`,
  String.raw`((?<![\w-])--?${secretName}\s{1,4}["']?)(?!-)${bareValue}{4,}`,
];

// Makers whose secrets have a stretch of 28 characters of base64url. The whole form is known, or the digit tells one from a name in code.
const long = [
  String.raw`(?<![A-Za-z0-9])(?:dapi[0-9a-f]{32}(?:-\d)?|SK[0-9a-f]{32}|GR1348941[\w-]{20}|EZ[AT]K[A-Za-z0-9]{54}|AKCp[A-Za-z0-9]{69}|sq[upa]_[0-9a-f]{40})(?![A-Za-z0-9])`,
  String.raw`(?<![A-Za-z0-9])(?:ntn_\d{6,}[A-Za-z0-9]{24,}|pscale_(?:tkn|pw|oauth)_[\w.=-]{32,}|rubygems_[0-9a-f]{48}|rdme_[a-z0-9]{70}|pn[ub]_[A-Za-z0-9]{36}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}|tfp_[\w.=-]{40,}|fo1_[\w-]{43}|fm[12][ar]?_[A-Za-z0-9+/=]{64,}|mdb_sa_sk_[\w-]{24,})`,
  String.raw`(?<![A-Za-z0-9])(?:figd_|sbp_|nvapi-|pplx-|lsv2_(?:pt|sk)_|sntryu_|xkeysib-|xsmtpsib-|bku[act]_|CCIPAT_|CFPAT-|pcsk_|tvly-|FLWSECK(?:_TEST)?-|duffel_(?:test|live)_|shippo_(?:test|live)_|gl(?:imt|agent|oas|ffct)-|ATBB|ATCTT3|dp\.(?:pt|ct|sa|scim|audit|st(?:\.[\w-]{2,35})?)\.(?=[\w-]{28}))(?=[\w-]{0,40}\d)[\w=+/-]{24,}`,
  String.raw`(?<![A-Za-z0-9])(?:pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}|[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,})`,
  String.raw`sha256~[\w-]{43}`,
  '(?<![A-Za-z0-9])A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}(?![A-Za-z0-9-])',
];

// Looked for only where the hint of the group stands, because they would cost every other text that is scrubbed.
const query = [
  // What signs a URL (Azure, AWS, Google).
  String.raw`([?&;][\w-]{0,40}sig(?:nature)?=)(?=[\w%.~+/=-]{0,80}\d)[\w%.~+/=-]{8,}`,
  // An id is evidence, a word is none.
  String.raw`([?&](?:[\w-]{0,40}[_-])?key=)(?=[\w%.~+/=-]{0,80}\d)(?![0-9a-f]{8}-[0-9a-f]{4}-)[\w%.~+/=-]{16,}`,
];
const twilioToken = String.raw`(\btwilio[\w .-]{0,40}["']?\s{0,3}[:=,]\s{0,3}["']?)[0-9a-f]{32}(?![0-9a-f])`;
// Host, port, database and user before it. What a compiler or grep says has a number or a space there.
const pgpass = String.raw`((?<![\w.*:/-])[\w.*-]{1,255}:(?:\*|54\d\d|64\d\d|6543|25060):(?!\d{1,9}:)[\w.*-]{1,64}:[\w.*@+-]{1,64}:)[^\s:"'$‹][^\s"'‹]{3,}`;
// The whole value of a line of YAML; a type, or a word that asks for one, is none.
const yamlPassword = String.raw`((?<![^\r\n])[ \t]{0,64}(?:-[ \t]{1,4})?[\w.-]{0,64}?(?:password|passwd|passphrase|pwd)[ \t]{0,3}:[ \t]{1,8})(?!${noPassword}[ \t]{0,8}(?:[\r\n#]|$))[^\s"'\x60$<>(){}\[\],;&|\\‹.!*:#]{6,}(?=[ \t]{0,8}(?:[ \t]#[^\r\n]{0,200})?(?:[\r\n]|$))`;

/** One pass over one text. Group 1 of a named shape is the part that stays. */
export const exactCaseShapes = new RegExp(`${standalone.join('|')}|${jwtShape}|${named.join('|')}`, 'g');
export const anyCaseShapes = new RegExp(namedAnyCase.join('|'), 'gi');
export const longShapes = new RegExp(long.join('|'), 'g');
export const hintedShapes: readonly { readonly hint: RegExp; readonly shapes: RegExp }[] = [
  { hint: /key=|ture=|sig=/i, shapes: new RegExp(query.join('|'), 'gi') },
  { hint: /ilio/i, shapes: new RegExp(twilioToken, 'gi') },
  { hint: /:\*:\S|:54\d\d:|:64\d\d:|:6543:|:25060:/, shapes: new RegExp(pgpass, 'g') },
  { hint: /(?:pass(?:word|wd|phrase)|pwd)[ \t]{0,3}:/i, shapes: new RegExp(yamlPassword, 'gi') },
];
/** Shapes that are known by their own prefix, looked for across the strings of one value. */
export const splitShapes = new RegExp(`${standalone.join('|')}|${jwtShape}`, 'g');
/** All of these, to be looked for in what a text hides. */
export const hiddenShapes = new RegExp([splitShapes.source, ...long].join('|'));

/** The element before a secret in a list of arguments: an option that takes one, or a header whose value was cut off behind its scheme. */
export const secretArgument = new RegExp(`^--?[\\w-]*${secretName}$|\\bbearer\\s*$`, 'i');

/** A member with such a name holds a secret whatever it looks like. */
export const secretKey = new RegExp(`(?:${secretName}|^(?:proxy-)?authorization|^(?:set-)?cookie)$`, 'i');
/** The members that name a pair: `{"name": "X-Api-Key", "value": "…"}`. */
export const pairName: readonly string[] = ['name', 'key', 'header', 'field'];
export const pairValue: readonly string[] = ['value', 'values', 'val'];

/** A private key that stands in several strings, one line each: where it begins, ends, and what may stand between. */
export const keyBegins = /^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/;
export const keyEnds = /^[\s\S]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/;
export const keyBetween = /^\s*(?:[A-Za-z0-9+/=]{0,80}|(?:Proc-Type|DEK-Info|Version|Comment): [^\r\n]{0,120})\s*$/;
/** Surely a line of one, also when its end is not there. */
export const keyLine = /^\s*[A-Za-z0-9+/=]{32,80}\s*$/;

/**
 * What must stand in a text before any shape can match it: a text without a hint needs no scrubbing, and nearly no text has one. Some
 * expressions with literals of one length each, because the engine skips through a text only then (one large alternation with the shapes'
 * own prefixes was 4 times slower, lookbehinds 20 times). The test gives every shape to them.
 */
const hints = [
  /A[KS]IA|LTAI|AIza|ya29|GOCSPX|8Q~|eyJ|[sS]ig=|SIG=|:\/\/|\.slack/,
  /bx_|h[opsur]_|ub_pat|p[mg]_|[rs]k_(?:live|test)|ec_[\w+/=-]{16}|sk-[\w-]{8}|at-[\w-]{20}|x[abdeoprs]-|pp-\d|---BEGIN/,
  /passw|passp|passc|secre|token(?!s)|crede|beare|autho/i,
  /pwd|pi[_-]?key|ss[_-]?key|nt[_-]?key|te[_-]?key/i,
  /hf_|gsk|r8_|dckr|lin_|shp[acps]|do[por]_v|tskey|xai-|pul-|PMAK|NRAK|HRKU|sq0|gl[rdcpfs]|sntrys|ATATT|SG\.|hv[sb]\.|pypi|AGE-S|:AA|disco|LS0tL/,
  /[etnrg][_-]?key|[_-]pass/i,
  /_auth|"auth|sshpa|pass(?![a-z])/i,
  /curl|ooki|dock|podm|redi|mysq|CURL|OOKI|DOCK|PODM|REDI|MYSQ/,
  /key=|Key=|KEY=|ture=|TURE=|ilio|ILIO|:\*:\S|:54\d\d:|:64\d\d:|:6543|:2506/,
];
export const hasHint = (text: string): boolean => hints.some((hint) => hint.test(text));
/** Of makers whose secrets are so long that they show by that first: looked for only in a text that has such a stretch. */
const longHints = [
  /dapi[0-9a-f]|ntn_\d|figd_|sbp_|nvapi|pplx-|scale_[tpo]|ems_[0-9a-f]{4}|rdme_|pn[ub]_|glsa_|sgp_|tfp_|fo1_|fm[12][ar]?_|lsv2_|ntryu|keysib|mtpsib|bku[act]_|pcsk_|tvly-|uffel_|ippo_|glimt|glage|gloas|glffc|b_sa_s/,
  /SK[0-9a-f]{8}|GR134|EZ[AT]K|AKCp|sq[upa]_[0-9a-f]{8}|CCIPA|CFPAT|FLWSE|ATBB|ATCT|A3-[A-Z0-9]{6}-|dt0[a-z]\d|256~|dp\.[pcsa]|atlasv|pat[A-Za-z0-9]{14}\./,
];
export const hasLongHint = (text: string): boolean => longHints.some((hint) => hint.test(text));

/** Whole strings that are evidence and never a secret: digest, uuid, timestamp. */
const evidence = /^(?:sha256:[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)$/;
const evidenceCharsMin = 20;
export const isEvidence = (text: string): boolean => text.length >= evidenceCharsMin && evidence.test(text);

/** AWS secret keys have no prefix. Beside their key id (AKIA…, ASIA…) a token of their length and mixture is one; commit ids are lower case. */
export const awsKeyId = /(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])/;
export const awsSecretCandidate = /(?<![A-Za-z0-9/+=_.-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_.-])/g;
