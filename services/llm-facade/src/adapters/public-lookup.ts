import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPrivateAddress } from '@fluidbox/contracts';

/** In place of the resolver of a socket: every address of the name is looked at, and the socket goes to exactly those, or nowhere. */
export const publicLookup: LookupFunction = (host, options, callback) => {
  lookup(host, { all: true }, (error, addresses) => {
    const [first] = addresses ?? [];
    if (error !== null || first === undefined) callback(error ?? new Error(`${host} has no address`), '', 0);
    else if (addresses.some(({ address }) => isPrivateAddress(address)))
      callback(new Error(`${host} leads to a private address, and FLUIDBOX_UPSTREAM_PRIVATE_HOSTS does not name it`), '', 0);
    else if (options.all === true) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
