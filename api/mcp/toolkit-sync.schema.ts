import Type from 'typebox';
import { mcpConnectionStates, mcpPrincipalKinds } from '../../db/mcp/mcp-connection.entity.ts';
import type { McpConnectionFacts } from '../../db/mcp/connection-queries.ts';
import type { McpStatusRow } from '../../db/mcp/status.ts';
import { mcpTransports } from '../../db/toolkits/toolkit-config.ts';
import { toolkitRevisionStates } from '../../workflows/contracts/tools/toolkit-sync.ts';
import { iso } from '../../db/sql.ts';
import { closed, FreeObject, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';
import { RevisionNote, Title, ToolName } from '../http/views/toolkit-revision-view.ts';

export const McpToolkitParams = closed({ toolkit_id: idOf('Toolkit') });

export const McpDiscover = closed(
  {
    url: text(2_000, { minLength: 1, description: 'The MCP endpoint of the server' }),
    transport: Type.Optional(oneOf(mcpTransports, { default: 'auto' })),
    token: Type.Optional(text(16_384, { minLength: 1, description: 'Sent once as bearer token; not stored' })),
  },
  { $id: 'McpDiscover' },
);

const OauthScopes = listOf(text(200), { maxItems: 50 });

export const McpDiscoveryView = closed(
  {
    reachable: Type.Boolean(),
    transport: nullable(oneOf(['http', 'sse'])),
    protocol_version: nullable(text(40)),
    server: nullable(FreeObject),
    instructions: nullable(text(8_000)),
    auth: closed({
      required: Type.Boolean(),
      authorization_servers: listOf(text(2_048), { maxItems: 20 }),
      scopes: OauthScopes,
      registration: oneOf(['preregistered', 'metadata_document', 'dynamic', 'none'], {
        description: 'How a client can register with the authorization server',
      }),
    }),
    tools: listOf(
      closed({
        name: ToolName,
        title: nullable(Title),
        description: text(16_384),
        input_schema: FreeObject,
        output_schema: nullable(FreeObject),
        annotations: FreeObject,
      }),
      { description: 'What a sync would find' },
    ),
    warnings: listOf(text(500), { maxItems: 50 }),
    duration_ms: integer(),
  },
  { $id: 'McpDiscoveryView', description: 'What an MCP server says about itself; nothing is stored' },
);

export const McpSync = closed(
  {
    note: Type.Optional(nullable(RevisionNote)),
    authorization: Type.Optional(
      closed({
        code: text(4_096, { minLength: 1, description: 'What the authorization server returned through the person’s browser' }),
        state: text(200, { minLength: 1 }),
      }),
    ),
  },
  { $id: 'McpSync' },
);

export const McpToolkitStatusView = closed(
  {
    toolkit_id: idOf('Toolkit'),
    reachable: nullable(Type.Boolean()),
    checked_at: nullable(Timestamp),
    server: nullable(FreeObject),
    protocol_version: nullable(text(40)),
    last_sync: nullable(
      closed({
        revision_id: idOf('ToolkitRevision'),
        number: integer({ minimum: 1 }),
        state: oneOf(toolkitRevisionStates),
        error: nullable(text(500)),
        created_at: Timestamp,
      }),
    ),
    quarantined: listOf(ToolName, { maxItems: 400, description: 'Tools that wait for an approval before they can be called again' }),
    connections: listOf(
      closed({
        principal: closed({ kind: oneOf(mcpPrincipalKinds), id: nullable(idOf('User')) }),
        state: oneOf(mcpConnectionStates),
        scopes: OauthScopes,
        expires_at: nullable(Timestamp),
        last_error: nullable(text(500)),
        authorization_url: nullable(
          text(8_192, { description: 'Where the person must consent; the resulting code and state are sent in a sync' }),
        ),
      }),
      { description: "The shared grant and the caller's own; admins see all" },
    ),
  },
  { $id: 'McpToolkitStatusView', description: 'The stored state of an MCP toolkit; the server is not contacted' },
);

/** The wire form of a toolkit's status. */
export function toMcpToolkitStatusView(toolkitId: string, status: McpStatusRow, connections: readonly McpConnectionFacts[]) {
  const { lastSync: sync } = status;
  return {
    toolkit_id: toolkitId,
    reachable: status.reachable,
    checked_at: iso(status.checkedAt),
    server: status.server,
    protocol_version: status.protocolVersion,
    last_sync: sync && {
      revision_id: sync.revision_id,
      number: sync.number,
      state: sync.state,
      error: sync.error,
      created_at: iso(sync.created_at),
    },
    quarantined: [...status.quarantined],
    connections: connections.map((each) => ({
      principal: { kind: each.principalKind, id: each.principalId },
      state: each.state,
      scopes: [...each.scopes],
      expires_at: iso(each.expiresAt),
      last_error: each.lastError,
      authorization_url: each.authorizationUrl,
    })),
  };
}
