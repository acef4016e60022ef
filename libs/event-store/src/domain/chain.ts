import { hash } from 'node:crypto';

/**
 * The chain: hash = SHA-256(previous hash ‖ seq as big-endian int8 ‖ SHA-256(body)). The first event stands on 32 zero bytes; the body names its
 * stream, so that an event cannot be moved to another one. Postgres computes the same in `ledger.chain`.
 */
export const genesisHash: Buffer = Buffer.alloc(32);

export function chainHash(previous: Buffer, seq: number, bodyDigest: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(72);
  previous.copy(bytes, 0);
  bytes.writeBigInt64BE(BigInt(seq), 32);
  bodyDigest.copy(bytes, 40);
  return hash('sha256', bytes, 'buffer');
}

export interface ChainedEvent {
  readonly seq: number;
  /** Lower-case hexadecimal. */
  readonly hash: string;
  /** The stored canonical text. */
  readonly body: string;
}
export type ChainCheck =
  | { readonly ok: true; readonly seq: number; readonly hash: string }
  | { readonly ok: false; readonly seq: number; readonly reason: 'gap' | 'hash' };

/** Checks events of one stream in order, from the start or from a trusted head. Names the first event that is wrong. */
export function verifyChain(
  events: Iterable<ChainedEvent>,
  from: { readonly seq: number; readonly hash: string } = { seq: 0, hash: genesisHash.toString('hex') },
): ChainCheck {
  let { seq, hash: previous } = from;
  for (const event of events) {
    seq += 1;
    if (event.seq !== seq) return { ok: false, seq, reason: 'gap' };
    const expected = chainHash(Buffer.from(previous, 'hex'), seq, hash('sha256', event.body, 'buffer')).toString('hex');
    if (event.hash !== expected) return { ok: false, seq, reason: 'hash' };
    previous = expected;
  }
  return { ok: true, seq, hash: previous };
}
