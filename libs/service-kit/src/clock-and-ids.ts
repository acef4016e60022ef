import type { Clock, Ids } from '@fluidbox/event-store';
import { RandomPool } from '@fluidbox/seal';

export const systemClock: Clock = { now: () => new Date() };

/** UUIDv7 (RFC 9562): ordered by time, and within a millisecond by a counter in the first random field. */
export function uuidV7Ids(clock: Clock = systemClock): Ids {
  let lastMs = 0;
  let counter = 0;
  const blocks = new RandomPool(16);
  return {
    uuid() {
      const bytes = blocks.next();
      const now = clock.now().getTime();
      if (now > lastMs) {
        lastMs = now;
        // Half of the room stays free for counting.
        counter = bytes.readUInt16BE(6) & 0x07ff;
      } else {
        counter += 1;
        if (counter > 0x0fff) {
          lastMs += 1;
          counter = 0;
        }
      }
      bytes.writeUIntBE(lastMs, 0, 6);
      bytes.writeUInt16BE(0x7000 | counter, 6);
      bytes.writeUInt8(((bytes[8] ?? 0) & 0x3f) | 0x80, 8);
      const hex = bytes.toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
  };
}
