import { openMcpSession } from '../../ports/mcp/server-sessions.ts';
import { principalOf } from '../streams/attach.ts';
import { answerBatch } from './batch.ts';
import { eraOf, metaKeys, sessionVersions } from './era.ts';
import { newExchange, serverInfoOf, type Exchange, type Http, type RawCtx } from './exchange.ts';
import {
  errorText,
  idIn,
  isJson,
  messageOf,
  notificationText,
  readJson,
  refuseTags,
  resultText,
  rpcCodes,
  RpcError,
  sendJson,
  type Json,
  type RpcMessage,
  type RpcRequest,
} from './json-rpc.ts';
import { serveListStream } from './list-stream.ts';
import { capabilities, instructions, answerOf } from './methods.ts';
import { demandSession, storeOf } from './session.ts';
import { demandScopes } from './step-up.ts';
import { toolOf } from './tool-call.ts';
import { answerWhenDone } from './waiting-answer.ts';

/** Answers one POST. A breach of the protocol gets a JSON-RPC error; any other failure is thrown, as in every operation. */
export async function answerPost(ctx: RawCtx, http: Http): Promise<void> {
  let value: unknown = null;
  try {
    const read = readJson(http.request.body);
    value = read.value;
    if (read.hasTags) refuseTags(value);
    if (Array.isArray(value)) await answerBatch(ctx, http, value);
    else await answerMessage(ctx, http, messageOf(value));
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    sendJson(http.reply, errorText(idIn(value), error), error.status);
  }
}

async function answerMessage(ctx: RawCtx, http: Http, message: RpcMessage): Promise<void> {
  const era = eraOf(message, http.request.headers);
  if (era === 'session' && message.kind === 'request' && message.method === 'initialize') return initialize(ctx, http, message);
  if (era === 'session') await demandSession(ctx, http);
  if (message.kind !== 'request') {
    http.reply.code(202).send();
    return;
  }

  const exchange = newExchange(ctx, http, era);
  if (era === 'stateless' && message.method === 'subscriptions/listen') return listen(exchange, message);
  const tool = toolOf(ctx, message);
  if (tool) demandScopes(ctx, [tool]);
  await answerWhenDone(http, answerOf(exchange, message));
}

/** Opens an MCP session. If the requested revision is not served, the reply names the newest that is. */
async function initialize(ctx: RawCtx, http: Http, { id, params }: RpcRequest): Promise<void> {
  const wanted = params['protocolVersion'];
  if (typeof wanted !== 'string') throw new RpcError(rpcCodes.invalidParams, 'protocolVersion is missing.');
  const protocolVersion = sessionVersions.find((version) => version === wanted) ?? sessionVersions[0];

  const session = await openMcpSession(storeOf(ctx), principalOf(ctx.caller));
  http.reply.header('mcp-session-id', session);
  sendJson(http.reply, resultText(id, JSON.stringify({ protocolVersion, capabilities, serverInfo: serverInfoOf(ctx), instructions })));
}

/** Opens a stream of those requested notifications that this server sends: changes of the list of tools. */
function listen(exchange: Exchange, { id, params }: RpcRequest): void {
  const wanted = params['notifications'];
  if (!isJson(wanted)) throw new RpcError(rpcCodes.invalidParams, 'notifications must be an object.');
  const isHonoured = wanted['toolsListChanged'] === true;
  const tag = { [metaKeys.subscriptionId]: id };
  const told = (method: string, more: Json) => notificationText(method, { ...more, _meta: tag });

  serveListStream(exchange.ctx, exchange.http, {
    first: told('notifications/subscriptions/acknowledged', { notifications: isHonoured ? { toolsListChanged: true } : {} }),
    changed: isHonoured ? told('notifications/tools/list_changed', {}) : null,
    last: resultText(id, exchange.result([], tag)),
    isAlive: async () => true,
  });
}
