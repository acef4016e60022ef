import { createHash } from 'node:crypto';

const fluidboxNamespace = Buffer.from('6f1d2b0c52f84f0f9c0a3e1f7b9d4c21', 'hex');

/**
 * UUIDv5 (RFC 9562) of an organisation's own name for something. The same name gives the same id, so that a second creation collides in the
 * store instead of making a twin. `kind` keeps a run, an agent and a policy of one name apart.
 */
export function uuidV5(org: string, kind: 'run' | 'agent' | 'policy' | 'delivery', name: string): string {
  const hash = createHash('sha1')
    .update(fluidboxNamespace)
    .update(JSON.stringify([org, kind, name]))
    .digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
