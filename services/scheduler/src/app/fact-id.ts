import { createHash } from 'node:crypto';

/**
 * The id of a fact that may be recorded again after a crash: the same run, type and generation give the same id, and the store keeps one
 * event of an id. A UUIDv8 (RFC 9562) over SHA-256.
 */
export function factId(runId: string, type: string, generation: number): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([runId, type, generation]))
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
