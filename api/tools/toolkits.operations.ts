import type { Static } from 'typebox';
import { forgetReplies } from '../../domain/http/idempotency.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { mapPage } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import { Toolkit } from '../../db/toolkits/toolkit.entity.ts';
import { listToolkitRows, readToolkit, type ToolkitRow } from '../../db/toolkits/toolkits.ts';
import { changeToolkit, createToolkit, deleteToolkit, type ToolkitChanges, type ToolkitRules } from '../../domain/toolkits/toolkits.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import { changesOf } from '../http/operation/changes.ts';
import { get, list, patch, post, remove, reply, type Ctx } from '../http/operation/operation.ts';
import { refuseForeignAim } from './secret-aim-rules.ts';
import { checkToolkitConfig } from './toolkit-config.schema.ts';
import { toolkitRevisionOperations } from './toolkit-revisions.operations.ts';
import { ToolkitCreate, ToolkitParams, ToolkitUpdate, ToolkitView, toToolkitView } from './toolkit.schema.ts';

export const toolkitOperations = {
  listToolkits: list(
    '/toolkits',
    {
      summary: 'List toolkits',
      description: 'Toolkits that the caller can see, newest first: MCP servers, OpenAPI documents, and manually created groups.',
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
        'Creates a toolkit without tools. They come with its first revision (from a document, created manually, or from a sync with the MCP server) and take effect once that is activated.',
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
      const rowScope = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const asked = { slug: body.slug, name: body.name, description: body.description ?? null, kind: body.kind, config: body.config };
      const id = await createToolkit(ctx, rowScope, { ...asked, secretsRequired: body.secrets_required ?? [] }, toolkitRules(ctx));
      return toToolkitView(await readToolkit(ctx, id));
    },
  ),

  getToolkit: get(
    '/toolkits/{toolkit_id}',
    {
      summary: 'Read a toolkit',
      description: 'Returns one toolkit with its config and the numbers of its tools. Secrets only appear by name.',
      access: 'viewer',
      mcp: true,
      etag: true,
      // Syncs and activations change the numbers independently of the version.
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
        'Changes the fields that are sent and keeps the rest; a config replaces the previous one as a whole. Changing the address, transport or auth quarantines all its tools until a revision is activated; an address or token server with a different origin erases the tools’ own secret values, and requires permission to set the secrets that the config names (403).',
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
      if (body.config !== undefined) checkToolkitConfig(toolkit.kind, body.config);
      await changeToolkit(ctx, toolkit, toChanges(body), toolkitRules(ctx));
      ctx.audit(noteOfNamed('toolkit', toolkit, changesOf(before, auditedOf(toolkit))));
      return toReply(await readToolkit(ctx, toolkit.id));
    },
  ),

  deleteToolkit: remove(
    '/toolkits/{toolkit_id}',
    {
      summary: 'Delete a toolkit',
      description:
        'Deletes a toolkit with its tools and its credentials for the server. While the active revision of an agent uses it or one of its tools, the answer is 409 with the ids of at most 20 such agents.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'delete',
      openWhenSuspended: true,
      params: ToolkitParams,
    },
    async (ctx, { params }) => {
      const toolkit = await seeForChange(ctx, Toolkit, params.toolkit_id, { openWhenSuspended: true });
      await deleteToolkit(ctx, toolkit);
      await forgetReplies(ctx, [toolkit.id]);
      ctx.audit(noteOfNamed('toolkit', toolkit));
    },
  ),

  ...toolkitRevisionOperations,
};

function toolkitRules(ctx: Ctx): ToolkitRules {
  return {
    policyOf: async (organizationId) => ({ allowHttp: ctx.deps.env.allowHttp, exceptions: await readEgressAllowlist(ctx, organizationId) }),
    refuseForeignAim: (rowScope, changes) => refuseForeignAim(ctx, rowScope, changes),
    now: ctx.deps.now(),
  };
}

function toChanges(body: Static<typeof ToolkitUpdate>): ToolkitChanges {
  const { name, description, config, secrets_required: secretsRequired, is_active: isActive } = body;
  return { name, description, config, secretsRequired, isActive };
}

function toReply(row: ToolkitRow) {
  return reply(toToolkitView(row), { version: row.rowVersion });
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
