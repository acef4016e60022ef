import { createHash, createPublicKey, verify } from 'node:crypto';

/**
 * Checks the record of one run, offline. This file is the whole verifier: node:crypto and nothing of fluidbox. The format is described in
 * README.md beside it, with a bundle to try an own implementation on.
 *
 * Nothing in a bundle is believed because it stands there. Every line has to be the canonical bytes (RFC 8785) of what it says, so there is one way to
 * write a bundle and a changed byte cannot hide; every event has to follow from the one before; checkpoints have to be signed by a key that the
 * caller trusts for reasons of his own. A checkpoint vouches for everything up to its event, because the chain does.
 */
export type Verdict = 'verified' | 'incomplete' | 'unpinned' | 'tampered';

/** Public keys that the caller trusts, by RFC 7638 thumbprint. */
export type KeySet = ReadonlyMap<string, Jwk>;
export interface Jwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
}
/** `null`: nobody said whom to trust. `signers`: thumbprints; the keys themselves may then come from the bundle. */
export type Trust = { readonly keys: KeySet } | { readonly signers: readonly string[] } | null;

export interface Finding {
  /** The event that is wrong, or the first one that can be; null when it is not about an event. */
  readonly seq: number | null;
  readonly line: number | null;
  readonly what: string;
}
export interface Report {
  readonly verdict: Verdict;
  /** The first one is the first thing that is wrong; what comes after it is not judged. */
  readonly finding: Finding | null;
  readonly stream: string | null;
  readonly events: number;
  /** Everything up to this event is signed; whoever handed the file over may have added what comes after. */
  readonly signedTo: number;
  /** The run has ended and its end is signed. */
  readonly complete: boolean;
  readonly signers: readonly string[];
  readonly checkpoints: readonly { readonly seq: number; readonly at: string; readonly kid: string }[];
  readonly artifacts: readonly { readonly seq: number; readonly kind: string; readonly name: string; readonly sha256: string }[];
  readonly witnessed: number | null;
  /** What is worth knowing and changes no verdict. */
  readonly notes: readonly string[];
}

const format = 'fluidbox-bundle/1';
const checkpointType = 'fbx-checkpoint+jws';
const depthMax = 512;
/** Of 64 bytes in base64url. */
const signatureChars = 86;

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Members = { readonly [name: string]: Json };

class Wrong extends Error {
  constructor(
    readonly what: string,
    readonly seq: number | null = null,
  ) {
    super(what);
  }
}

/** RFC 8785. Numbers and strings as ECMAScript writes them, members in the order of their UTF-16 code units. */
export function canonical(value: Json, depth = 0): string {
  if (depth > depthMax) throw new Wrong(`it is nested deeper than ${depthMax}`);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item as Json, depth + 1)).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = value as Members;
    const names = Object.keys(members).sort();
    return `{${names.map((name) => `${canonical(name)}:${canonical(members[name] as Json, depth + 1)}`).join(',')}}`;
  }
  if (typeof value === 'string' && !value.isWellFormed()) throw new Wrong('a text in it has half of a surrogate pair');
  return JSON.stringify(value);
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();
const hex = (bytes: Buffer): string => bytes.toString('hex');
const digestOf = (text: string): string => `sha256:${hex(sha256(text))}`;

/** hash = SHA-256(previous hash ‖ seq as big-endian int64 ‖ SHA-256(canonical event)); the first event stands on 32 zero bytes. */
function chain(previous: Buffer, seq: number, event: string): Buffer {
  const place = Buffer.alloc(8);
  place.writeBigInt64BE(BigInt(seq));
  return sha256(Buffer.concat([previous, place, sha256(event)]));
}

export const thumbprint = ({ crv, kty, x }: Jwk): string => sha256(canonical({ crv, kty, x })).toString('base64url');

/** Base64url without padding, in its one spelling: Buffer.from alone would take many others for the same bytes. */
function base64url(text: string, what: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  if (text === '' || bytes.toString('base64url') !== text) throw new Wrong(`${what} is not strict base64url`);
  return bytes;
}

function jwkOf(value: Json | undefined): Jwk {
  const { kty, crv, x, d } = object(value ?? null, 'a key');
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || d !== undefined) throw new Wrong('a key is not a public Ed25519 key');
  if (base64url(x, 'a key').length !== 32) throw new Wrong('a key does not have 32 bytes');
  return { kty, crv, x };
}

/** A JWKS as the deployment publishes it. Names in it are not believed: a key is called by its thumbprint. Throws when it is something else. */
export function keySetOf(text: string): KeySet {
  const { keys } = object(JSON.parse(text) as Json, 'a key set');
  if (!Array.isArray(keys) || keys.length === 0) throw new Wrong('it has no "keys"');
  return new Map(keys.map((each: Json) => jwkOf(each)).map((key) => [thumbprint(key), key]));
}

function object(value: Json, what: string): Members {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Wrong(`${what} is not an object`);
  return value as Members;
}
function exactly(value: Json, names: readonly string[], what: string): Members {
  const members = object(value, what);
  if (Object.keys(members).length !== names.length || !names.every((name) => Object.hasOwn(members, name)))
    throw new Wrong(`${what} must have the members ${names.join(', ')}`);
  return members;
}
function text(value: Json | undefined, what: string): string {
  if (typeof value !== 'string') throw new Wrong(`${what} is not text`);
  return value;
}

/** The kinds of line, in the order in which they stand. */
const kinds = ['format', 'key', 'document', 'event', 'checkpoint', 'end'] as const;
type Kind = (typeof kinds)[number];
const membersOf: Readonly<Record<Kind, readonly string[]>> = {
  format: ['format', 'org', 'stream'],
  key: ['key'],
  document: ['digest', 'document'],
  event: ['event', 'hash', 'seq'],
  checkpoint: ['checkpoint', 'jws'],
  end: ['end'],
};

interface Checkpoint {
  readonly seq: number;
  readonly at: string;
  readonly kid: string;
}

/** What has been read and found right so far. */
class Reading {
  org = '';
  stream: string | null = null;
  kind = -1;
  readonly keys = new Map<string, Jwk>();
  readonly documents = new Map<string, string>();
  /** The last key or document: a file may hold any number of them, so nothing walks them all for each. */
  private previous: string | undefined;
  readonly hashes: Buffer[] = [];
  readonly artifacts: Report['artifacts'][number][] = [];
  readonly checkpoints: Checkpoint[] = [];
  readonly policyDigests = new Map<string, number>();
  specDigest: string | null = null;
  lastType = '';
  ended = false;
  readonly notes: string[] = [];

  get signedTo(): number {
    return this.checkpoints.at(-1)?.seq ?? 0;
  }
  get complete(): boolean {
    return this.lastType === 'run.result' && this.signedTo === this.hashes.length;
  }

  constructor(private readonly trust: Trust) {}

  line(raw: string): void {
    if (this.ended) throw new Wrong('something follows the end');
    const value = object(parsed(raw), 'a line');
    const kind = kinds.findIndex((name) => Object.hasOwn(value, name));
    const name = kinds[kind];
    if (name === undefined) throw new Wrong('it is of no known kind');
    if (this.kind === -1 && name !== 'format') throw new Wrong(`it does not begin with "${format}"`);
    if (kind < this.kind || (kind === this.kind && name === 'format')) throw new Wrong(`${name} does not stand where it belongs`);
    if (kind !== this.kind) this.previous = undefined;
    this.kind = kind;
    this[name](exactly(value, membersOf[name], name));
  }

  private format(line: Members): void {
    if (line.format !== format) throw new Wrong(`the format is not ${format}`);
    this.org = text(line.org, 'org');
    this.stream = text(line.stream, 'stream');
    if (!/^run-[0-9a-f-]{36}$/.test(this.stream)) throw new Wrong('the stream is not that of a run');
  }

  private key(line: Members): void {
    const value = exactly(line.key ?? null, ['alg', 'crv', 'kid', 'kty', 'use', 'x'], 'a key');
    const key = jwkOf(value);
    const kid = thumbprint(key);
    if (value.kid !== kid || value.alg !== 'EdDSA' || value.use !== 'sig') throw new Wrong('a key is not called by its thumbprint');
    ascending(this.previous, kid, 'keys');
    this.previous = kid;
    this.keys.set(kid, key);
  }

  private document(line: Members): void {
    const document = text(line.document, 'a document');
    const digest = digestOf(document);
    if (line.digest !== digest) throw new Wrong(`document ${String(line.digest)} has the digest ${digest}`);
    ascending(this.previous, digest, 'documents');
    this.previous = digest;
    this.documents.set(digest, document);
  }

  private event(line: Members): void {
    const seq = this.hashes.length + 1;
    const event = object(line.event ?? null, 'an event');
    const hash = chain(this.hashes.at(-1) ?? Buffer.alloc(32), seq, canonical(event));
    if (line.seq !== seq) throw new Wrong(`event ${seq} is missing or not in its place: ${String(line.seq)} stands there`, seq);
    if (line.hash !== hex(hash))
      throw new Wrong(`event ${seq} is not what was recorded: its hash does not follow from the events before it`, seq);
    if (event.stream !== this.stream || event.org !== this.org) throw new Wrong(`event ${seq} belongs to another run`, seq);
    this.hashes.push(hash);
    this.lastType = text(event.type, `the type of event ${seq}`);
    this.remember(seq, this.lastType, object(event.data ?? null, `the data of event ${seq}`));
  }

  /** The few facts that bind something else to the chain. Types that are not known here are verified like all others. */
  private remember(seq: number, type: string, data: Members): void {
    if ((seq === 1) !== (type === 'session.created')) throw new Wrong(`event ${seq} cannot be ${type}: a run begins once`, seq);
    if (seq === 1) this.specDigest = text(data.spec_digest, 'the digest of the specification');
    if (typeof data.policy_digest === 'string' && !this.policyDigests.has(data.policy_digest))
      this.policyDigests.set(data.policy_digest, seq);
    if (type !== 'artifact.collected') return;
    const { kind, name, sha256: digest } = data;
    this.artifacts.push({ seq, kind: text(kind, 'kind'), name: text(name, 'name'), sha256: text(digest, 'sha256') });
  }

  private checkpoint(line: Members): void {
    const payload = exactly(line.checkpoint ?? null, ['at', 'hash', 'org', 'seq', 'stream'], 'a checkpoint');
    const seq = Number(payload.seq);
    const kid = this.signerOf(canonical(payload), text(line.jws, 'a signature'));
    if (payload.stream !== this.stream || payload.org !== this.org)
      throw new Wrong(`a checkpoint is one of another run: ${String(payload.stream)}`);
    if (seq <= this.signedTo) throw new Wrong('the checkpoints are not in order');
    this.agrees(seq, payload.hash, `the checkpoint at event ${seq}`);
    this.checkpoints.push({ seq, at: text(payload.at, 'at'), kid });
  }

  /** `who` vouches for `hash` at `seq`: a difference is somewhere after what was vouched for before. */
  agrees(seq: number, hash: Json | undefined, who: string): void {
    const own = this.hashes[seq - 1];
    const from = this.signedTo + 1;
    if (own === undefined)
      throw new Wrong(
        `${who} vouches for more than the ${this.hashes.length} events that are here: the rest was cut off`,
        this.hashes.length + 1,
      );
    if (hash !== hex(own))
      throw new Wrong(`${who} vouches for another history: something between ${from} and ${seq} was changed and hashed anew`, from);
  }

  /** Verifies a detached JWS over `payload` and answers the thumbprint of its key. One header is possible for a key, so no other algorithm is. */
  signerOf(payload: string, jws: string): string {
    const [header = '', detached, signature = '', ...rest] = jws.split('.');
    if (detached !== '' || rest.length > 0) throw new Wrong('a signature is not a detached JWS');
    const { kid } = object(parsed(base64url(header, 'the header of a signature').toString('utf8')), 'the header of a signature');
    const name = text(kid, 'kid');
    if (header !== Buffer.from(canonical({ alg: 'EdDSA', kid: name, typ: checkpointType })).toString('base64url'))
      throw new Wrong('the header of a signature is not that of a checkpoint');
    const key = this.keyOf(name);
    const bytes = base64url(signature, 'a signature');
    const signed = Buffer.from(`${header}.${Buffer.from(payload).toString('base64url')}`);
    if (bytes.length !== 64 || !verify(null, signed, createPublicKey({ key: { ...key }, format: 'jwk' }), bytes))
      throw new Wrong(`the signature of a checkpoint does not fit its key ${name}`);
    return name;
  }

  private keyOf(kid: string): Jwk {
    const own = this.keys.get(kid);
    if (this.trust === null) return own ?? wrong(`the key ${kid} of a checkpoint is not in the bundle`);
    if ('keys' in this.trust) return this.trust.keys.get(kid) ?? wrong(`a checkpoint is signed by ${kid}, which is not a key you trust`);
    if (!this.trust.signers.includes(kid)) throw new Wrong(`a checkpoint is signed by ${kid}, which is not a signer you trust`);
    return own ?? wrong(`the key of signer ${kid} is not in the bundle: give the key file instead`);
  }

  private end(line: Members): void {
    const counts = canonical({
      checkpoints: this.checkpoints.length,
      documents: this.documents.size,
      events: this.hashes.length,
      keys: this.keys.size,
    });
    if (canonical(line.end ?? null) !== counts) throw new Wrong(`the end counts other lines than are here (${counts})`);
    this.ended = true;
  }

  /** After the last line: what is bound together must all be there. */
  close(): void {
    if (!this.ended) throw new Wrong('the file was cut off: its end is missing', this.hashes.length + 1);
    const used = new Set(this.checkpoints.map(({ kid }) => kid));
    for (const kid of this.keys.keys()) if (!used.has(kid)) throw new Wrong(`the key ${kid} signs nothing here`);
    if (this.specDigest === null) throw new Wrong('there is no event', 1);
    const spec =
      this.documents.get(this.specDigest) ?? wrong(`the specification ${this.specDigest} that the run was created with is missing`, 1);
    const { policy, price_table: prices } = object(parsed(spec), 'the specification');
    const { digest, document } = object(policy ?? null, 'the policy');
    if (digestOf(canonical(document ?? null)) !== digest)
      throw new Wrong('the policy in the specification does not have the digest it names', 1);
    for (const [named, seq] of this.policyDigests)
      if (named !== digest) throw new Wrong(`event ${seq} was decided by another policy than the frozen one`, seq);
    const bound = [this.specDigest, object(prices ?? null, 'the price table').digest];
    for (const each of this.documents.keys()) if (!bound.includes(each)) throw new Wrong(`nothing in the run refers to document ${each}`);
  }

  /** Heads that somebody else kept. Answers the last one of this run. */
  witness(file: string): number {
    // Copied from one system to another it may have got other line ends.
    const lines = file.split(/\r?\n/);
    // Whoever writes it ends each line with a newline. What stands behind the last one is whole, or what a crash left of a line.
    const unended = lines.pop() ?? '';
    if (isTorn(unended)) this.notes.push('the last line of the witness file is torn, as a crash leaves it: nothing was compared with it');
    else lines.push(unended);
    let last = 0;
    for (const line of lines.filter((each) => each.trim() !== '')) {
      const jws = jwsIn(line);
      if (jws === null) {
        this.notes.push('a head in the witness file is not signed: nothing was compared with it');
        continue;
      }
      const [header, payload = '', signature] = jws.split('.');
      const body = base64url(payload, 'a witnessed head').toString('utf8');
      const head = object(parsed(body), 'a witnessed head');
      if (head.stream !== this.stream) continue;
      this.signerOf(body, `${header}..${signature}`);
      // A run has one organisation: under another one it was written anew.
      if (head.org !== this.org) throw new Wrong(`the run was witnessed in the organisation ${String(head.org)}, not in ${this.org}`, 1);
      this.agrees(Number(head.seq), head.hash, `the head that was witnessed at event ${String(head.seq)}`);
      last = Math.max(last, Number(head.seq));
    }
    return last;
  }
}

/** What a line of a witness file holds; null where it says that nobody signed. */
function jwsIn(line: string): string | null {
  if (!line.startsWith('{')) return line;
  const { jws } = object(parsed(line, false), 'a witness');
  return jws === null ? null : text(jws, 'jws');
}
/** The beginning of a line: an object that does not close, or a JWS whose signature is not all there. */
function isTorn(line: string): boolean {
  if (line.trim() === '') return false;
  if (!line.startsWith('{')) return (line.split('.')[2] ?? '').length < signatureChars;
  try {
    return JSON.parse(line) === undefined;
  } catch {
    return true;
  }
}

/** Parses and insists on the one way to write it: no second member of a name, no other spelling of a number or a text, no space. */
function parsed(raw: string, strict = true): Json {
  let value: Json;
  try {
    value = JSON.parse(raw) as Json;
  } catch {
    throw new Wrong('it is not JSON');
  }
  if (strict && canonical(value) !== raw) throw new Wrong('it is not canonical JSON (RFC 8785)');
  return value;
}
function ascending(previous: string | undefined, next: string, what: string): void {
  if (previous !== undefined && previous >= next) throw new Wrong(`the ${what} are not in order, or one is there twice`);
}
function wrong(what: string, seq: number | null = null): never {
  throw new Wrong(what, seq);
}

/** `witness`: a file of witnessed heads, one compact JWS or one object with a member `jws` a line. Never throws: what cannot be read is tampered with. */
export function verifyBundle(file: Buffer, trust: Trust, witness?: string): Report {
  const reading = new Reading(trust);
  let line = 0;
  let raw = '';
  let witnessed: number | null = null;
  let finding: Finding | null = null;
  try {
    for (const bytes of linesOf(file)) {
      line += 1;
      raw = utf8(bytes);
      reading.line(raw);
    }
    line = 0;
    reading.close();
    if (witness !== undefined) witnessed = reading.witness(witness);
  } catch (error) {
    // A value that is nested too deep ends in a RangeError; whatever else happens here, this is no bundle to rely on.
    const what = error instanceof Error ? error.message : String(error);
    const named = error instanceof Wrong ? error.seq : null;
    finding = {
      seq: named ?? (line > 0 && standsForEvent(reading, raw) ? reading.hashes.length + 1 : null),
      line: line === 0 ? null : line,
      what,
    };
  }
  return {
    verdict: finding !== null ? 'tampered' : trust === null ? 'unpinned' : reading.complete ? 'verified' : 'incomplete',
    finding,
    stream: reading.stream,
    events: reading.hashes.length,
    signedTo: reading.signedTo,
    complete: finding === null && reading.complete,
    signers: [...new Set(reading.checkpoints.map(({ kid }) => kid))],
    checkpoints: reading.checkpoints,
    artifacts: reading.artifacts,
    witnessed,
    notes: reading.notes,
  };
}

/** A line that cannot be read is the next event where events stand, unless it says itself that it is something else. */
function standsForEvent({ kind }: Reading, raw: string): boolean {
  if (kinds[kind] === 'document') return !raw.startsWith('{"digest"');
  return kinds[kind] === 'event' && !raw.startsWith('{"checkpoint"') && !raw.startsWith('{"end"');
}

function* linesOf(file: Buffer): Generator<Buffer> {
  let from = 0;
  for (let at = file.indexOf(0x0a); at !== -1; at = file.indexOf(0x0a, from)) {
    yield file.subarray(from, at);
    from = at + 1;
  }
  if (from < file.length || file.length === 0) throw new Wrong('the file was cut off: its last line does not end');
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Wrong('it is not UTF-8');
  }
}
