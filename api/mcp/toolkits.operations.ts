import { creatorOf } from '../../db/actor-ref.ts';
import { listConnections, sharedPrincipal, type McpPrincipal } from '../../db/mcp/connection-queries.ts';
import { takeCode } from '../../domain/mcp/consents.ts';
import { readMcpStatus } from '../../domain/mcp/consents.ts';
import { startSync } from '../../domain/toolkits/syncs.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { assertActive, seeForChange } from '../../db/scope.ts';
import type { McpToolkitConfig } from '../../db/toolkits/toolkit-config.ts';
import { Toolkit } from '../../db/toolkits/toolkit.entity.ts';
import { readToolkitRevision } from '../../db/toolkits/toolkits.ts';
import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { get, post, reply, type Ctx } from '../http/operation/operation.ts';
import { ToolkitRevisionView, toToolkitRevisionView } from '../http/views/toolkit-revision-view.ts';
import { whileEntitled } from '../streams/while-entitled.ts';
import { discoverServer, discoveryParts, discoveryPolicy } from './discover.ts';
import {
  McpDiscover,
  McpDiscoveryView,
  McpSync,
  McpToolkitParams,
  McpToolkitStatusView,
  toMcpToolkitStatusView,
} from './toolkit-sync.schema.ts';

/** The platform as a client of MCP servers; its own MCP endpoint is in `endpoint.operations.ts`. */
export const mcpToolkitOperations = {
  discoverMcpServer: post(
    '/mcp/discover',
    {
      summary: 'Probe an MCP server',
      description:
        'Connects once, within 15 seconds, and returns what the server offers and how it requires callers to be authorized. Stores nothing. If the server does not answer, the reply has reachable false.',
      access: 'admin',
      audit: 'submit',
      success: [200],
      body: McpDiscover,
      view: McpDiscoveryView,
      example: { body: { url: 'https://mcp.example.com/mcp' } },
    },
    async (ctx, { body }) => {
      const rowScope = rowScopeOf(ctx);
      await assertActive(ctx.em, rowScope);
      const policy = await discoveryPolicy(ctx, body.url);
      ctx.audit({ resourceType: 'mcp_server', label: new URL(body.url).host, ...rowScope });
      const before = { ...nothingYet };
      return reply(before, {
        afterCommit: async () => reply(await whileEntitled(ctx, {}, () => discoverServer(discoveryParts(ctx), policy, body))),
      });
    },
  ),

  syncMcpToolkit: post(
    '/mcp/toolkits/{toolkit_id}/sync',
    {
      summary: 'Sync an MCP toolkit',
      description:
        'Stores the tools of the server as a new revision, which becomes inactive, unchanged or failed. Active tools that have changed or disappeared are quarantined at once. Only one sync runs at a time; the code and state of a consent are sent here once.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'submit',
      idempotent: true,
      resourceType: 'toolkit_revision',
      success: [202],
      params: McpToolkitParams,
      body: McpSync,
      view: ToolkitRevisionView,
      example: { body: { note: 'After their release' } },
    },
    async (ctx, { params, body }) => {
      const toolkit = await seeForChange(ctx, Toolkit, params.toolkit_id, { versionProperty: null });
      const { organizationId } = toolkit;
      if (toolkit.kind !== 'mcp') throw fail('state_conflict', { reason: 'not_mcp', detail: 'The toolkit is not of kind mcp.' });
      if (organizationId === null)
        throw fail('state_conflict', { reason: 'platform_toolkit', detail: 'A toolkit of the platform cannot be synced with a server.' });
      if (body.authorization !== undefined) {
        // A toolkit of kind mcp has this config.
        const principal = principalOf(ctx, toolkit.config as unknown as McpToolkitConfig);
        await takeCode(ctx, ctx.deps.keys, { toolkitId: toolkit.id, principal, ...body.authorization });
      }

      const rowScope = { id: toolkit.id, organizationId, workspaceId: toolkit.workspaceId };
      const { id, number } = await startSync(ctx, rowScope, { note: body.note ?? null, createdBy: creatorOf(ctx.actor) });
      ctx.audit({
        resourceType: 'toolkit_revision',
        resourceId: id,
        label: `${toolkit.slug} ${number}`,
        organizationId,
        workspaceId: toolkit.workspaceId,
      });
      return reply(toToolkitRevisionView(await readToolkitRevision(ctx, toolkit.id, id)));
    },
  ),

  getMcpToolkitStatus: get(
    '/mcp/toolkits/{toolkit_id}/status',
    {
      summary: 'Read the state of an MCP toolkit',
      description: 'Returns the last sync, quarantined tools and grants as stored; the server is not contacted.',
      access: 'viewer',
      fails: ['state_conflict'],
      params: McpToolkitParams,
      view: McpToolkitStatusView,
    },
    async (ctx, { params }) => {
      const status = await readMcpStatus(ctx, params.toolkit_id);
      const everybody = isAdminOf(ctx, status.workspaceId);
      const connections = await listConnections(ctx, params.toolkit_id, { userId: ctx.caller.userId, everybody });
      return toMcpToolkitStatusView(params.toolkit_id, status, connections);
    },
  ),
};

/** The view at the commit, which the result of `afterCommit` replaces. */
const nothingYet = {
  reachable: false,
  transport: null,
  protocol_version: null,
  server: null,
  instructions: null,
  auth: { required: false, authorization_servers: [], scopes: [], registration: 'none' as const },
  tools: [],
  warnings: [],
  duration_ms: 0,
};

/** The row scope of the caller: a discovery belongs to no row. */
function rowScopeOf({ caller }: Ctx): { readonly organizationId: string | null; readonly workspaceId: string | null } {
  return { organizationId: organizationOf(caller), workspaceId: caller.view?.workspaceId ?? caller.workspaceId };
}

/** Whether the caller is an admin in the row scope of the toolkit. */
function isAdminOf({ caller }: Ctx, workspaceId: string | null): boolean {
  const isElsewhere = workspaceId !== null && caller.workspaces !== 'all';
  const role = isElsewhere ? caller.workspaces.get(workspaceId) : caller.role;
  return role !== undefined && rankOf(role) >= rankOf('admin');
}

/** The principal who receives the grant of the code. */
function principalOf(ctx: Ctx, { auth }: McpToolkitConfig): McpPrincipal {
  if (auth.type !== 'oauth' || auth.mode === 'shared') return sharedPrincipal;
  const { userId } = ctx.caller;
  if (userId === null)
    throw fail('state_conflict', { reason: 'user_needed', detail: 'Each user must give their own consent for this toolkit.' });
  return { kind: 'user', id: userId };
}
