import type { lookup as dnsLookup, LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { EgressRefused } from './errors.ts';
import { refusals } from './url.ts';
import { isPublic } from './public-address.ts';

/** Resolves once and passes only checked addresses to the socket: the address that was checked is the one that is connected to. */
export function publicLookup(resolve: typeof dnsLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => {
      if (error) return callback(error, '', 0);
      const allowed = found.filter(({ address }) => isPublic(address));
      const first = allowed[0];
      if (!first || allowed.length < found.length) return callback(new EgressRefused(refusals.notPublic), '', 0);
      return options.all ? callback(null, allowed) : callback(null, first.address, first.family);
    });
  };
}
