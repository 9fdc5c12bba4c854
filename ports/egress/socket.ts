import type { lookup as dnsLookup, LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { connect, type Socket, type LookupFunction } from 'node:net';
import { EgressRefused, EgressUnreachable } from './errors.ts';
import { isExceptedHost, refusalOfHost, type EgressPolicy, refusals } from './url.ts';
import { isPublic } from './public-address.ts';

/** A server that speaks another protocol than HTTP. */
export interface SocketTarget {
  readonly host: string;
  readonly port: number;
  readonly policy: EgressPolicy;
  /** Aborts the attempt to connect; the socket itself belongs to the caller. */
  readonly signal: AbortSignal;
}

/**
 * Connects to a mail server that a tenant names: the address that was checked is the one that is connected to. Throws EgressRefused, EgressUnreachable, or the
 * signal's reason.
 */
export async function openSocket(resolve: typeof dnsLookup, { host, port, policy, signal }: SocketTarget): Promise<Socket> {
  signal.throwIfAborted();
  const refusal = refusalOfHost({ host, port }, policy);
  if (refusal !== null) throw new EgressRefused(refusal);
  const lookup = isExceptedHost({ host, port }, policy) ? {} : { lookup: publicLookup(resolve) };
  const socket = connect({ host, port, ...lookup });
  try {
    await once(socket, 'connect', { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw faultOf(error, signal);
  }
}

function faultOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof EgressRefused) return error;
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  const unreachable = new EgressUnreachable(
    'unreachable',
    `the server can not be reached (${typeof code === 'string' ? code : 'unknown'})`,
  );
  unreachable.mayHaveArrived = false;
  return unreachable;
}

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
