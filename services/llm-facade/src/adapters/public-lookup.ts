import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPrivateAddress } from '@fluidbox/contracts';

export type Resolve = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

const resolveBySystem: Resolve = (host) =>
  new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)));
  });

/** In place of the resolver of a socket: every address of the name is looked at, and the socket goes to exactly those, or nowhere. */
export const publicLookup =
  (resolve: Resolve = resolveBySystem): LookupFunction =>
  (host, options, callback) => {
    const refuse = (reason: string): void => callback(new Error(`${host} ${reason}`), '', 0);
    resolve(host).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) refuse('has no address');
        else if (addresses.some(({ address }) => isPrivateAddress(address)))
          refuse('leads to a private address, and FLUIDBOX_UPSTREAM_PRIVATE_HOSTS does not name it');
        else if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      () => refuse('cannot be resolved'),
    );
  };
