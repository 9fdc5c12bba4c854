import { catalogueOf } from './catalogue.ts';
import { statelessVersions, type Era } from './era.ts';
import type { Exchange } from './exchange.ts';
import { resultText, rpcCodes, RpcError, type RpcRequest } from './json-rpc.ts';
import { toolCall } from './tool-call.ts';
import type { Awaited } from './waiting-answer.ts';

/** Answers the requests of one method. */
type Method = (exchange: Exchange, request: RpcRequest) => Awaited;

export const capabilities = { tools: { listChanged: true } };
export const instructions =
  'Tools of a Longhaul deployment: agents, their runs and what they use. Start a run with createRun, wait for it with waitForRun and read what it said with listRunMessages. Errors carry code, detail and whether the same call can succeed later.';
/** A client may cache the reply for its caller only, and briefly. */
const cacheHints = ['"ttlMs":60000', '"cacheScope":"private"'];

const common: Readonly<Record<string, Method>> = { 'tools/list': listTools, 'tools/call': toolCall };
const methods: Readonly<Record<Era, Readonly<Record<string, Method>>>> = {
  session: { ...common, ping: (exchange, request) => answered(exchange, request, []) },
  stateless: { ...common, 'server/discover': discover },
};

/** Returns the work behind a request. Throws RpcError for a method that is not served, and for invalid parameters. */
export function answerOf(exchange: Exchange, request: RpcRequest): Awaited {
  const { era } = exchange;
  const method = Object.hasOwn(methods[era], request.method) ? methods[era][request.method] : undefined;
  if (!method) throw new RpcError(rpcCodes.methodNotFound, 'There is no such method.', { status: era === 'stateless' ? 404 : 200 });
  return method(exchange, request);
}

function discover(exchange: Exchange, request: RpcRequest): Awaited {
  const facts = { supportedVersions: statelessVersions, capabilities, instructions };
  const fields = Object.entries(facts).map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
  return answered(exchange, request, [...fields, ...cacheHints]);
}

function listTools(exchange: Exchange, request: RpcRequest): Awaited {
  // One page contains them all, so no cursor was ever issued.
  if (request.params['cursor'] !== undefined) throw new RpcError(rpcCodes.invalidParams, 'The cursor is invalid.');
  const { caller, deps } = exchange.ctx;
  const tools = `"tools":${catalogueOf(deps.operations).listFor(caller)}`;
  return answered(exchange, request, exchange.era === 'stateless' ? [tools, ...cacheHints] : [tools]);
}

/** A response that is ready at once. */
function answered(exchange: Exchange, { id }: RpcRequest, fields: readonly string[]): Awaited {
  return { progressToken: null, work: async () => resultText(id, exchange.result(fields)) };
}
