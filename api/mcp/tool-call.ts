import { invoke, type Invoked } from '../http/operation/invoke.ts';
import type { RegisteredOperation } from '../http/operation/operation.ts';
import type { Rendered } from '../http/reply/render.ts';
import { catalogueOf } from './catalogue.ts';
import { metaOf } from './era.ts';
import type { Exchange, RawCtx } from './exchange.ts';
import { isJson, resultText, rpcCodes, RpcError, type Json, type RpcRequest } from './json-rpc.ts';
import type { Awaited } from './waiting-answer.ts';

/** Headers of the route's reply that the tool result repeats for clients. */
const reportedHeaders = ['etag', 'location', 'retry-after', 'idempotency-replayed'];

/**
 * Returns the work behind `tools/call`: the operation's reply as text and as structured content, or its failure as `isError` with the envelope. Throws RpcError
 * for an unknown tool and for arguments that are not an object.
 */
export function toolCall(exchange: Exchange, request: RpcRequest): Awaited {
  const { deps } = exchange.ctx;
  const operation = toolOf(exchange.ctx, request);
  const { arguments: given } = request.params;
  if (!operation) throw new RpcError(rpcCodes.invalidParams, 'There is no tool of this name.');
  if (given !== undefined && !isJson(given)) throw new RpcError(rpcCodes.invalidParams, 'arguments must be an object.');
  const { progressToken } = metaOf(request.params);

  return {
    progressToken: typeof progressToken === 'string' || typeof progressToken === 'number' ? progressToken : null,
    work: async (signal) => {
      const done = await invoke(deps, { operation, request: exchange.http.request, args: given ?? {}, signal });
      return resultText(request.id, exchange.result(fieldsOf(done), metaOfReply(done)));
    },
  };
}

/** Returns the operation that a request calls as a tool; null for any other request, and for an unknown name. */
export function toolOf({ deps }: Pick<RawCtx, 'deps'>, { method, params }: RpcRequest): RegisteredOperation | null {
  const { name } = params;
  return method === 'tools/call' && typeof name === 'string' ? catalogueOf(deps.operations).find(name) : null;
}

/** Fields of a tool's result as JSON texts. */
function fieldsOf(done: Invoked): readonly string[] {
  if (done.kind === 'failed') {
    const envelope = JSON.stringify(done.envelope);
    return [contentOf(envelope), `"structuredContent":${envelope}`, '"isError":true'];
  }
  const { body } = done.reply;
  if (body === null) return [contentOf('Done.')];
  // The body is JSON text of an object: every view and page is one.
  return isJsonReply(done.reply) ? [contentOf(body), `"structuredContent":${body}`] : [contentOf(body)];
}

function isJsonReply({ headers }: Rendered): boolean {
  return headers['content-type']?.startsWith('application/json') ?? false;
}

function contentOf(text: string): string {
  return `"content":[{"type":"text","text":${JSON.stringify(text)}}]`;
}

function metaOfReply(done: Invoked): Json {
  if (done.kind === 'failed') return { 'longhaul/status': done.envelope.status };
  const { status, headers } = done.reply;
  const told = reportedHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[`longhaul/${name}`, headers[name]] as const]));
  return { 'longhaul/status': status, ...Object.fromEntries(told) };
}
