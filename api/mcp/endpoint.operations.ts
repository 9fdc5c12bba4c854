import type { IncomingHttpHeaders } from 'node:http';
import Type from 'typebox';
import { endMcpSession, touchMcpSession } from '../../ports/mcp/server-sessions.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ApiEnv } from '../env.ts';
import { raw, rawPost, remove } from '../http/operation/operation.ts';
import { closed, maxInteger, plainText } from '../http/input/schema.ts';
import { principalOf } from '../streams/attach.ts';
import { maxMessages } from './batch.ts';
import { answerPost } from './dispatch.ts';
import { isSessionVersion } from './era.ts';
import { notificationText } from './json-rpc.ts';
import { serveListStream } from './list-stream.ts';
import { sessionIdOf, storeOf } from './session.ts';

const MessageId = Type.Unsafe<string | number>({
  type: ['string', 'integer'],
  minimum: -maxInteger,
  maximum: maxInteger,
  maxLength: 1_000,
  description: 'Id of a request; absent on a notification',
});

/** One JSON-RPC 2.0 message; open by design. */
const McpMessage = Type.Object(
  {
    jsonrpc: Type.Literal('2.0', { description: 'Version of JSON-RPC' }),
    id: Type.Optional(MessageId),
    method: Type.Optional(Type.String({ maxLength: 200, description: 'The requested method' })),
    params: Type.Optional(Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'Parameters of the method' })),
  },
  { $id: 'McpMessage', additionalProperties: true, description: 'A message of the Model Context Protocol' },
);

/** One message, or a batch. */
const McpBody = Type.Unsafe<object>({
  oneOf: [
    McpMessage,
    Type.Array(McpMessage, { minItems: 1, maxItems: maxMessages, description: 'A batch; only 2025-03-26 supports them' }),
  ],
});

/** The response to a JSON-RPC 2.0 request: either `result` or `error`. A breach of the protocol gets an `error`, too. */
const McpAnswer = closed(
  {
    jsonrpc: Type.Literal('2.0', { description: 'Version of JSON-RPC' }),
    id: Type.Unsafe<string | number | null>({
      type: ['string', 'number', 'null'],
      maxLength: 1_048_576,
      description: 'As in the request; null if none could be read',
    }),
    result: Type.Optional(Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'Depends on the method' })),
    error: Type.Optional(
      closed(
        {
          code: Type.Integer({ minimum: -maxInteger, maximum: maxInteger, description: 'JSON-RPC 2.0 §5.1 and MCP' }),
          message: Type.String({ maxLength: 1_000 }),
          data: Type.Optional(Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'Depends on the code' })),
        },
        { $id: 'McpError', description: 'Why the message was refused' },
      ),
    ),
  },
  { $id: 'McpAnswer', description: 'The answer to a message of the Model Context Protocol' },
);

const McpReply = Type.Unsafe<object>({
  $id: 'McpReply',
  description: 'The answer to a message, or those to a batch',
  oneOf: [McpAnswer, Type.Array(McpAnswer, { minItems: 1, maxItems: maxMessages, description: 'For a batch, in its order' })],
});

/** The endpoint of the Model Context Protocol (Streamable HTTP): its tools are operations of this contract. */
export const endpointOperations = {
  callMcp: rawPost(
    '/mcp',
    {
      summary: 'Send an MCP message',
      description:
        'The Model Context Protocol over Streamable HTTP: 2025-03-26 to 2025-11-25 with a session, 2026-07-28 without. Each tool is an operation of this contract and answers as its route; a longer call is answered with an event stream.',
      access: 'viewer',
      fails: ['resource_forbidden'],
      audit: 'none',
      success: [200, 202],
      produces: 'application/json',
      view: McpReply,
      alsoProduces: { 'text/event-stream': plainText('The same answer as an event, after events about its progress') },
      alsoFailsAs: { 'application/json': McpAnswer },
      body: McpBody,
      // Any client may begin with this message.
      example: {
        body: {
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'example', version: '1.0.0' } },
        },
      },
    },
    async (ctx, _input, http) => {
      refuseForeignOrigin(ctx.deps.env, http.request.headers.origin);
      await answerPost(ctx, http);
    },
  ),

  streamMcp: raw(
    '/mcp',
    {
      summary: 'Listen to the MCP server',
      description: 'Opens the event stream of an MCP session, which reports changes of the list of tools. 405 without a session.',
      access: 'viewer',
      fails: ['resource_forbidden', 'not_found', 'method_not_allowed'],
      produces: 'text/event-stream',
      headReply: 'refused',
    },
    async (ctx, _input, http) => {
      refuseForeignOrigin(ctx.deps.env, http.request.headers.origin);
      const id = demandSessionId(http.request.headers);
      const isAlive = () => touchMcpSession(storeOf(ctx), id, principalOf(ctx.caller));
      if (!(await isAlive())) throw fail('not_found');
      serveListStream(ctx, http, { first: null, changed: notificationText('notifications/tools/list_changed', null), last: null, isAlive });
    },
  ),

  endMcp: remove(
    '/mcp',
    {
      summary: 'End an MCP session',
      description: 'Ends the session named by Mcp-Session-Id, including its streams. 405 without a session.',
      access: 'viewer',
      fails: ['resource_forbidden', 'not_found', 'method_not_allowed'],
      audit: 'none',
      transaction: 'none',
      identify: async ({ deps, headers, caller }) => {
        refuseForeignOrigin(deps.env, headers.origin);
        const isEnded = await endMcpSession(storeOf({ deps }), demandSessionId(headers), principalOf(caller));
        if (!isEnded) throw fail('not_found');
      },
    },
    async () => undefined,
  ),
};

/**
 * Throws 403 for a foreign origin: a stranger's page must not reach a deployment through its visitor's browser (MCP, Streamable HTTP: security). Clients other
 * than browsers send no Origin.
 */
function refuseForeignOrigin(env: ApiEnv, origin: string | undefined): void {
  if (origin === undefined || origin === env.publicUrl || env.corsOrigins.includes(origin)) return;
  throw fail('resource_forbidden', { reason: 'origin_not_allowed', detail: 'Pages of this origin are not allowed to use the endpoint.' });
}

/**
 * Returns the MCP session that a GET or DELETE names. Throws 400 for a version that is not served within sessions, and 405 without a session: newer versions
 * have none.
 */
function demandSessionId(headers: Readonly<IncomingHttpHeaders>): string {
  const id = sessionIdOf(headers);
  if (id === null)
    throw fail('method_not_allowed', { detail: 'Without a session, only POST is supported.', headers: { allow: 'POST, OPTIONS' } });
  const version = headers['mcp-protocol-version'];
  if (version === undefined || (typeof version === 'string' && isSessionVersion(version.trim()))) return id;
  throw fail('malformed_request', { detail: 'MCP-Protocol-Version names a version that is not supported within sessions.' });
}
