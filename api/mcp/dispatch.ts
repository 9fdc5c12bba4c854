import { openMcpSession } from '../../db/mcp/server-sessions.ts';
import { principalOf } from '../streams/attach.ts';
import { catalogueOf } from './catalogue.ts';
import { eraOf, metaKeys, sessionVersions, statelessVersions } from './era.ts';
import { newExchange, serverInfoOf, type Exchange, type Http, type RawCtx } from './exchange.ts';
import { idIn, isJson, notificationText, readMessage, resultText, rpcCodes, RpcFault, sendFault, sendJson } from './json-rpc.ts';
import type { Json, RpcMessage, RpcRequest } from './json-rpc.ts';
import { serveListStream } from './list-stream.ts';
import { demandSession, storeOf } from './session.ts';
import { answerToolCall } from './tool-call.ts';

type Method = (exchange: Exchange, request: RpcRequest) => Promise<void>;

const capabilities = { tools: { listChanged: true } };
const instructions =
  'Tools of a Longhaul deployment: agents, their runs and what they use. Start a run with createRun, wait for it with waitForRun and read what it said with listRunMessages. Errors carry code, detail and whether the same call can succeed later.';
/** A list is the caller's own, and soon asked for again. */
const cacheHints = ['"ttlMs":60000', '"cacheScope":"private"'];

const common: Readonly<Record<string, Method>> = { 'tools/list': listTools, 'tools/call': answerToolCall };
const methods: Readonly<Record<Exchange['era'], Readonly<Record<string, Method>>>> = {
  session: { ...common, ping: async (exchange, request) => answer(exchange, request, []) },
  stateless: { ...common, 'server/discover': discover, 'subscriptions/listen': listen },
};

/** Answers one POST. What breaks the protocol is a JSON-RPC error; the rest fails as every request does. */
export async function answerPost(ctx: RawCtx, http: Http): Promise<void> {
  const { body } = http.request;
  try {
    const message = readMessage(body);
    await answerMessage(ctx, http, message);
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    sendFault(http.reply, idIn(body), error);
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

  const method = Object.hasOwn(methods[era], message.method) ? methods[era][message.method] : undefined;
  if (!method) throw new RpcFault(rpcCodes.methodNotFound, 'There is no such method.', { status: era === 'stateless' ? 404 : 200 });
  await method(newExchange(ctx, http, era), message);
}

/** Opens a session. A revision that is not served is answered by the newest that is. */
async function initialize(ctx: RawCtx, http: Http, { id, params }: RpcRequest): Promise<void> {
  const wanted = params['protocolVersion'];
  if (typeof wanted !== 'string') throw new RpcFault(rpcCodes.invalidParams, 'protocolVersion is missing.');
  const protocolVersion = sessionVersions.find((version) => version === wanted) ?? sessionVersions[0];

  const session = await openMcpSession(storeOf(ctx), principalOf(ctx.caller));
  http.reply.header('mcp-session-id', session);
  sendJson(http.reply, resultText(id, JSON.stringify({ protocolVersion, capabilities, serverInfo: serverInfoOf(ctx), instructions })));
}

async function discover(exchange: Exchange, request: RpcRequest): Promise<void> {
  const told = { supportedVersions: statelessVersions, capabilities, instructions };
  const fields = Object.entries(told).map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
  answer(exchange, request, [...fields, ...cacheHints]);
}

async function listTools(exchange: Exchange, request: RpcRequest): Promise<void> {
  // One page holds them all, so no cursor was ever given out.
  if (request.params['cursor'] !== undefined) throw new RpcFault(rpcCodes.invalidParams, 'The cursor is none of ours.');
  const { caller, deps } = exchange.ctx;
  const tools = `"tools":${catalogueOf(deps.operations).listFor(caller)}`;
  answer(exchange, request, exchange.era === 'stateless' ? [tools, ...cacheHints] : [tools]);
}

/** A stream of what the client asked to be told and this server can tell: changes of the list of tools. */
async function listen(exchange: Exchange, { id, params }: RpcRequest): Promise<void> {
  const wanted = params['notifications'];
  if (!isJson(wanted)) throw new RpcFault(rpcCodes.invalidParams, 'notifications must be an object.');
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

function answer(exchange: Exchange, { id }: RpcRequest, fields: readonly string[]): void {
  sendJson(exchange.http.reply, resultText(id, exchange.result(fields)));
}
