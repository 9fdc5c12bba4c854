import { invoke, type Invoked } from '../http/invoke.ts';
import type { Rendered } from '../http/render.ts';
import { catalogueOf } from './catalogue.ts';
import type { Exchange } from './exchange.ts';
import { isJson, rpcCodes, RpcFault, type Json, type RpcRequest } from './json-rpc.ts';
import { metaOf } from './era.ts';
import { answerWhenDone } from './waiting-answer.ts';

/** What a reply of the route says in headers, for whoever builds on it. */
const toldHeaders = ['etag', 'location', 'retry-after', 'idempotency-replayed'];

/** Answers `tools/call`: the operation's reply as text and as structured content, its refusals as `isError` with the envelope. Throws RpcFault for what names no tool. */
export async function answerToolCall(exchange: Exchange, request: RpcRequest): Promise<void> {
  const { deps } = exchange.ctx;
  const { name, arguments: given } = request.params;
  const operation = typeof name === 'string' ? catalogueOf(deps.operations).find(name) : null;
  if (!operation) throw new RpcFault(rpcCodes.invalidParams, 'There is no tool of this name.');
  if (given !== undefined && !isJson(given)) throw new RpcFault(rpcCodes.invalidParams, 'arguments must be an object.');
  const { progressToken } = metaOf(request.params);

  await answerWhenDone(exchange, {
    id: request.id,
    progressToken: typeof progressToken === 'string' || typeof progressToken === 'number' ? progressToken : null,
    work: async (signal) => {
      const done = await invoke(deps, { operation, request: exchange.http.request, args: given ?? {}, signal });
      return exchange.result(fieldsOf(done), metaOfReply(done));
    },
  });
}

/** Fields of a tool's result as JSON texts. */
function fieldsOf(done: Invoked): readonly string[] {
  if (done.kind === 'failed') {
    const envelope = JSON.stringify(done.envelope);
    return [contentOf(envelope), `"structuredContent":${envelope}`, '"isError":true'];
  }
  const { body } = done.reply;
  if (body === null) return [contentOf('Done.')];
  // The body is JSON already, and an object: every view and page is one.
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
  const told = toldHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[`longhaul/${name}`, headers[name]] as const]));
  return { 'longhaul/status': status, ...Object.fromEntries(told) };
}
