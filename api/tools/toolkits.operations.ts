import type { Static } from 'typebox';
import { forgetReplies } from '../../db/http/idempotency.ts';
import { dropOwnSecrets, isAimedAnew } from '../../db/secrets/secret-aim.ts';
import { newId } from '../../db/ids.ts';
import { forgetConnections } from '../../db/mcp/connections.ts';
import { mapPage } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { quarantineAll } from '../../db/toolkits/revisions.ts';
import { Toolkit } from '../../db/toolkits/toolkit.entity.ts';
import { agentsBinding, listToolkitRows, readToolkit, removeToolkit, toolsOfToolkit, type ToolkitRow } from '../../db/toolkits/toolkits.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { noteOfNamed } from '../http/audit.ts';
import { changesOf } from '../http/changes.ts';
import { get, list, patch, post, remove, reply, type Ctx } from '../http/operation.ts';
import { refuseForeignAim } from './secret-aim-rules.ts';
import { checkToolkitConfig } from './toolkit-config.schema.ts';
import { toolkitRevisionOperations } from './toolkit-revisions.operations.ts';
import { isAnotherServer, nextSyncOf, toolkitConfigOf } from './toolkit-rules.ts';
import { ToolkitCreate, ToolkitParams, ToolkitUpdate, ToolkitView, toToolkitView } from './toolkit.schema.ts';

export const toolkitOperations = {
  listToolkits: list(
    '/toolkits',
    {
      summary: 'List toolkits',
      description: 'Toolkits that the caller sees, newest first: MCP servers, OpenAPI documents, and groups made by hand.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      view: ToolkitView,
    },
    async (ctx) => mapPage(await listToolkitRows(ctx, ctx.page), toToolkitView),
  ),

  createToolkit: post(
    '/toolkits',
    {
      summary: 'Create a toolkit',
      description:
        'Creates a toolkit without tools. They come with its first revision (of a document, by hand, or of a sync with the MCP server) and are in force once that is activated.',
      access: 'admin',
      fails: ['already_exists', 'not_found'],
      audit: 'create',
      idempotent: true,
      location: (view: { readonly id: string }) => `/toolkits/${view.id}`,
      example: {
        body: {
          slug: 'orders',
          name: 'Orders',
          kind: 'openapi',
          config: { base_url: 'https://api.example.com/v1', auth: { type: 'bearer', secret: 'orders_key' } },
        },
      },
      body: ToolkitCreate,
      view: ToolkitView,
    },
    async (ctx, { body }) => {
      const home = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const config = await toolkitConfigOf(ctx, { kind: body.kind, config: body.config, organizationId: home.organizationId });
      await refuseForeignAim(ctx, home, [{ before: null, after: { ...config } }]);
      const toolkit = ctx.em.create(Toolkit, {
        id: newId(),
        ...home,
        slug: body.slug,
        name: body.name,
        description: body.description ?? null,
        kind: body.kind,
        config: { ...config },
        secretsRequired: body.secrets_required ?? [],
        activeRevisionId: null,
        isActive: true,
        reachable: null,
        checkedAt: null,
        server: null,
        protocolVersion: null,
        lastError: null,
        nextSyncAt: nextSyncOf(config, ctx.deps.now()),
        deletedAt: null,
      });
      await ctx.em.persist(toolkit).flush();
      return toToolkitView(await readToolkit(ctx, toolkit.id));
    },
  ),

  getToolkit: get(
    '/toolkits/{toolkit_id}',
    {
      summary: 'Read a toolkit',
      description: 'One toolkit with its config and the numbers of its tools. Secrets appear by name only.',
      access: 'viewer',
      mcp: true,
      etag: true,
      // Syncs and activations change the numbers beside the version.
      notModified: false,
      params: ToolkitParams,
      view: ToolkitView,
    },
    async (ctx, { params }) => toReply(await readToolkit(ctx, params.toolkit_id)),
  ),

  updateToolkit: patch(
    '/toolkits/{toolkit_id}',
    {
      summary: 'Change a toolkit',
      description:
        'Changes what is sent and keeps the rest; a config replaces the former one whole. Another address, transport or auth quarantines all its tools until a revision is activated; an address or token server of another origin drops the secret values that its tools have of their own, and takes the right to set the secrets that the config names (403).',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      etag: true,
      params: ToolkitParams,
      body: ToolkitUpdate,
      example: { body: { name: 'Orders', description: 'Finds and changes orders.' } },
      view: ToolkitView,
    },
    async (ctx, { params, body }) => {
      const toolkit = await seeForChange(ctx, Toolkit, params.toolkit_id, { versionProperty: 'rowVersion' });
      const before = auditedOf(toolkit);
      await applyUpdate(ctx, toolkit, body);
      await ctx.em.flush();
      ctx.audit(noteOfNamed('toolkit', toolkit, changesOf(before, auditedOf(toolkit))));
      return toReply(await readToolkit(ctx, toolkit.id));
    },
  ),

  deleteToolkit: remove(
    '/toolkits/{toolkit_id}',
    {
      summary: 'Delete a toolkit',
      description:
        'Deletes a toolkit with its tools and what it held to reach its server. While the active revision of an agent binds it or one of its tools, the answer is 409 with the ids of at most 20.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'delete',
      openWhenFrozen: true,
      params: ToolkitParams,
    },
    async (ctx, { params }) => {
      const toolkit = await seeForChange(ctx, Toolkit, params.toolkit_id, { openWhenFrozen: true });
      const usedBy = await agentsBinding(ctx, toolkit.id);
      if (usedBy.length > 0)
        throw fail('state_conflict', {
          reason: 'in_use',
          detail: 'The active revision of an agent binds this toolkit or one of its tools.',
          context: { used_by: usedBy },
        });
      await removeToolkit(ctx, toolkit.id);
      await forgetReplies(ctx, [toolkit.id]);
      ctx.audit(noteOfNamed('toolkit', toolkit));
    },
  ),

  ...toolkitRevisionOperations,
};

async function applyUpdate(ctx: Ctx, toolkit: Toolkit, body: Static<typeof ToolkitUpdate>): Promise<void> {
  if (body.name !== undefined) toolkit.name = body.name;
  if (body.description !== undefined) toolkit.description = body.description;
  if (body.secrets_required !== undefined) toolkit.secretsRequired = body.secrets_required;
  if (body.is_active !== undefined) toolkit.isActive = body.is_active;
  if (body.config === undefined) return;

  checkToolkitConfig(toolkit.kind, body.config);
  const config = await toolkitConfigOf(ctx, { kind: toolkit.kind, config: body.config, organizationId: toolkit.organizationId });
  const before = toolkit.config;
  await refuseForeignAim(ctx, toolkit, [{ before, after: { ...config } }]);
  toolkit.config = { ...config };
  if (before['sync_interval_s'] !== toolkit.config['sync_interval_s']) toolkit.nextSyncAt = nextSyncOf(config, ctx.deps.now());
  if (!isAnotherServer(before, config)) return;
  if (isAimedAnew(before, toolkit.config)) await dropOwnSecrets(ctx, await toolsOfToolkit(ctx, toolkit.id));
  await quarantineAll(ctx, toolkit.id);
  // No token goes to another server than the one that it was given for.
  await forgetConnections(ctx, toolkit.id);
}

function toReply(row: ToolkitRow) {
  return reply(toToolkitView(row), { version: row.row_version });
}

function auditedOf(toolkit: Toolkit) {
  return {
    name: toolkit.name,
    description: toolkit.description,
    config: toolkit.config,
    secrets_required: toolkit.secretsRequired,
    is_active: toolkit.isActive,
  };
}
