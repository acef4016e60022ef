import { canonicalJson } from '@fluidbox/redaction';
import { sha256Hex } from './digest';
import type { PublicKeySet } from './signing-keys';

/** What a run leaves to those who check it: format `fluidbox-bundle/1`, described in libs/verifier. */
export interface Bundle {
  readonly org: string;
  readonly stream: string;
  readonly keys: PublicKeySet;
  readonly documents: readonly Buffer[];
  /** Bodies and hashes as they are stored: what is wrong with them is for the verifier to say. */
  readonly events: AsyncIterable<{ readonly seq: number; readonly body: string; readonly hash: string }>;
  /** Compact JWS, in the order of their events. */
  readonly checkpoints: readonly string[];
}

/** The lines of the bundle, each with its end, in the order that the format asks for. */
export async function* bundleLines(bundle: Bundle): AsyncGenerator<string> {
  const line = (value: unknown): string => `${canonicalJson(value)}\n`;
  yield line({ format: 'fluidbox-bundle/1', org: bundle.org, stream: bundle.stream });
  const signers = new Set(bundle.checkpoints.map(kidOf));
  const keys = bundle.keys.keys.filter(({ kid }) => signers.has(kid)).sort((a, b) => (a.kid < b.kid ? -1 : 1));
  for (const { alg, crv, kid, kty, use, x } of keys) yield line({ key: { alg, crv, kid, kty, use, x } });
  const documents = [...new Map(bundle.documents.map((bytes) => [sha256Hex(bytes), bytes.toString('utf8')]))].sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  for (const [digest, document] of documents) yield line({ digest, document });
  let events = 0;
  for await (const { seq, body, hash } of bundle.events) {
    events += 1;
    // The stored text itself: writing it anew would hide what was done to it.
    yield `{"event":${body},"hash":${canonicalJson(hash)},"seq":${seq}}\n`;
  }
  for (const jws of bundle.checkpoints) {
    const [header, payload = '', signature] = jws.split('.');
    yield `{"checkpoint":${Buffer.from(payload, 'base64url').toString('utf8')},"jws":${canonicalJson(`${header}..${signature}`)}}\n`;
  }
  yield line({ end: { checkpoints: bundle.checkpoints.length, documents: documents.length, events, keys: keys.length } });
}

function kidOf(jws: string): string {
  const header: unknown = JSON.parse(Buffer.from(jws.slice(0, jws.indexOf('.')), 'base64url').toString('utf8'));
  return String((header as { kid?: unknown }).kid);
}
