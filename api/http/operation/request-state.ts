import { randomFillSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { v7 } from 'uuid';
import type { Caller } from '../../../db/caller.ts';
import { limitAddressOf, type TrustedProxies } from '../credentials/client-address.ts';
import type { RegisteredOperation } from './operation.ts';

/** What the steps of one request pass on to each other. */
export interface RequestState {
  readonly startedAt: number;
  readonly address: string;
  readonly limitAddress: string;
  operation: RegisteredOperation | null;
  /** The template of the path, if it is known but no route accepted the request. */
  template: string | null;
  caller: Caller | null;
  /** Headers that earlier steps have set for the reply: RateLimit, Deprecation, X-Impersonation-Id, CORS. */
  headers: Record<string, string>;
}

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState | null;
  }
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns the correlation id: that of a trusted peer if it is a uuid, else a new one. */
export function correlationId(proxies: TrustedProxies, request: IncomingMessage): string {
  const given = request.headers['x-correlation-id'];
  return typeof given === 'string' && uuidPattern.test(given) && proxies.isTrustedPeer(request)
    ? given.toLowerCase()
    : v7({ random: randomBlock() });
}

const blockBytes = 16;
const randomPool = Buffer.alloc(256 * blockBytes);
let randomAt = randomPool.length;

// A pool, because random bytes for each request would cost more than the rest of the id.
function randomBlock(): Uint8Array {
  if (randomAt === randomPool.length) {
    randomFillSync(randomPool);
    randomAt = 0;
  }
  randomAt += blockBytes;
  return randomPool.subarray(randomAt - blockBytes, randomAt);
}

export function openState(request: FastifyRequest, proxies: TrustedProxies): RequestState {
  const address = proxies.addressOf(request.raw);
  const state: RequestState = {
    startedAt: performance.now(),
    address,
    limitAddress: limitAddressOf(address),
    operation: null,
    template: null,
    caller: null,
    headers: {},
  };
  request.state = state;
  return state;
}

const noHeaders = Object.freeze({});
const noWorkspaces = new Map<string, never>();
const noScopes: readonly string[] = [];

/**
 * Releases what a long-lived reply no longer needs once its headers are sent: the client's headers, which contain the credential, the reply's own, and the
 * caller's rights. Caller and operation are retained for the final log line.
 */
export function keepForLog(request: FastifyRequest): void {
  const state = stateOf(request);
  state.headers = noHeaders;
  if (state.caller) state.caller = { ...state.caller, workspaces: noWorkspaces, scopes: noScopes };
  request.raw.headers = noHeaders;
  request.raw.rawHeaders = [];
}

/** Returns the state that the first hook has opened. */
export function stateOf(request: FastifyRequest): RequestState {
  if (!request.state) throw new Error('request has no state yet');
  return request.state;
}

/** Returns the path template of the contract. A path that matches no template is omitted, because it may contain anything, including secrets. */
export function templateOf(request: FastifyRequest): string | null {
  const { url } = request.routeOptions;
  return request.state?.template ?? url?.replaceAll(/:(\w+)/g, '{$1}') ?? null;
}
