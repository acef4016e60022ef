import type { KeyEncryptionKey } from '@fluidbox/seal';
import type { UpstreamKeys, UpstreamPlace } from '../app/ports';

/** Bound to who it is for and where it goes: a sealed key that was copied into another row, or whose URL was changed, does not open. */
const placeOf = ({ org, dialect, name, baseUrl }: UpstreamPlace): string => `upstream-${JSON.stringify([org, dialect, name, baseUrl])}`;

export const upstreamKeys = (kek: KeyEncryptionKey): UpstreamKeys => ({
  seal: (place, key) => kek.wrap(Buffer.from(key, 'latin1'), placeOf(place)),
  open: (place, sealed) => kek.unwrap(sealed, placeOf(place)).toString('latin1'),
});
