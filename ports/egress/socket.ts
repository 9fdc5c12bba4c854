import type { lookup as dnsLookup } from 'node:dns';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { EgressRefused, EgressUnreachable } from './errors.ts';
import { isExceptedHost, refusalOfHost, type EgressPolicy } from './url.ts';
import { publicLookup } from './public-lookup.ts';

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
