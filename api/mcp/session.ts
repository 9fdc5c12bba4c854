import type { IncomingHttpHeaders } from 'node:http';
import { touchMcpSession, type McpSessionStore } from '../../ports/mcp/server-sessions.ts';
import type { Deps } from '../http/operation/deps.ts';
import { principalOf } from '../streams/attach.ts';
import type { Http, RawCtx } from './exchange.ts';
import { rpcCodes, RpcError } from './json-rpc.ts';

export function storeOf({ deps }: { readonly deps: Pick<Deps, 'redis' | 'env'> }): McpSessionStore {
  return { redis: deps.redis, redisPrefix: deps.env.redisPrefix };
}

/** Returns the id of the MCP session that a request names; null if it names none. */
export function sessionIdOf(headers: Readonly<IncomingHttpHeaders>): string | null {
  const id = headers['mcp-session-id'];
  return typeof id === 'string' && id !== '' ? id : null;
}

/** Renews the request's MCP session. Throws RpcError 400 without one, 404 if it has ended or is another principal's, so that the client begins anew. */
export async function demandSession(ctx: RawCtx, { request }: Http): Promise<void> {
  const id = sessionIdOf(request.headers);
  if (id === null) throw new RpcError(rpcCodes.refused, 'Mcp-Session-Id is missing. Send initialize first.', { status: 400 });
  if (await touchMcpSession(storeOf(ctx), id, principalOf(ctx.caller))) return;
  throw new RpcError(rpcCodes.sessionUnknown, 'The session is unknown. Send initialize again.', { status: 404 });
}
