import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Judges peers and forwarded hops against the deployment's list of trusted proxies. */
export interface TrustedProxies {
  /** Whether the socket's peer may set X-Forwarded-For and X-Correlation-Id. */
  isTrustedPeer(request: IncomingMessage): boolean;
  /** Returns the socket's peer, or behind trusted proxies the rightmost hop that is not one of them. */
  addressOf(request: IncomingMessage): string;
}

/** `proxies` are addresses and CIDR ranges; throws on one that is neither. */
export function trustedProxies(proxies: readonly string[]): TrustedProxies {
  const ranges = proxies.map(parseRange);
  const isTrusted = (address: Address | null) =>
    address !== null && ranges.some(([range, bits]) => address.kind() === range.kind() && address.match([range, bits]));

  return {
    isTrustedPeer: (request) => ranges.length > 0 && isTrusted(parseAddress(request.socket.remoteAddress ?? '')),
    addressOf(request) {
      const peer = request.socket.remoteAddress ?? '';
      if (ranges.length === 0) return plain(peer);

      let found = parseAddress(peer);
      if (!isTrusted(found)) return plain(peer);
      for (const hop of forwardedHops(request).toReversed()) {
        const address = parseAddress(hop);
        if (!address) break;
        found = address;
        if (!isTrusted(address)) break;
      }
      return found?.toString() ?? peer;
    },
  };
}

/** An address as a limit key: an IPv6 client owns its /64, so it counts as one. */
export function limitAddressOf(address: string): string {
  if (!address.includes(':')) return address;
  const parsed = parseAddress(address);
  if (parsed?.kind() !== 'ipv6') return address;
  const { parts } = ipaddr.IPv6.parse(address);
  return `${parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

function forwardedHops(request: IncomingMessage): string[] {
  const header = request.headers['x-forwarded-for'];
  const value = Array.isArray(header) ? header.join(',') : (header ?? '');
  return value
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '');
}

function parseRange(text: string): [Address, number] {
  const [range, bits] = text.includes('/') ? ipaddr.parseCIDR(text) : [ipaddr.parse(text), null];
  return [range, bits ?? (range.kind() === 'ipv4' ? 32 : 128)];
}

/** Returns null if it is not an address. Removes a port, and unwraps an IPv4-mapped IPv6 address. */
function parseAddress(text: string): Address | null {
  const bare = text.replace(/^\[([^\]]+)\](?::\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : null;
}

/** The socket's peer; an IPv4 address in IPv6 clothes is unwrapped. */
export function peerOf({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string {
  return plain(remoteAddress);
}

function plain(peer: string): string {
  return peer.startsWith('::ffff:') ? peer.slice('::ffff:'.length) : peer;
}
