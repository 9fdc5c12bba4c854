import ipaddr from 'ipaddr.js';

/** Removes the brackets of an IPv6 literal. */
export function bareHost(hostname: string): string {
  return hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
}

/** Returns the address that a host is, unless it is a name. */
export function literalAddress(hostname: string): string | null {
  const bare = bareHost(hostname);
  return ipaddr.isValid(bare) ? bare : null;
}

/** Public unicast; of IPv6 only 2000::/3, which is all that is allocated: `::7f00:1`, an old form of 127.0.0.1, would pass otherwise. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || ((parsed.parts[0] ?? 0) & 0xe000) === 0x2000;
}
