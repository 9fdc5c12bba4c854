import ipaddr from 'ipaddr.js';

/** Returns the network that an address lies in, /24 or /48: all that is stored of it with a session or a failed login. */
export function truncateAddress(address: string): string {
  const [bare = ''] = address.split('%');

  if (!ipaddr.isValid(bare)) return 'unknown';
  const parsed = ipaddr.process(bare);

  return parsed.kind() === 'ipv4'
    ? `${ipaddr.IPv4.networkAddressFromCIDR(`${parsed.toString()}/24`).toString()}/24`
    : `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/48`).toString()}/48`;
}
