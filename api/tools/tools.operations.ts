import { forgetReplies } from '../../domain/http/idempotency.ts';
import { mapPage } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { Tool } from '../../db/tools/tool.entity.ts';
import { listToolRows, readTool } from '../../db/tools/tools.ts';
import { changeTool, createTool, deleteTool } from '../../domain/tools/tools.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import { changesOf } from '../http/operation/changes.ts';
import { area, get, list, patch, post, remove, reply } from '../http/operation/operation.ts';
import { toolRules } from './tool-checks.ts';
import { auditedFields, toNewToolSettings, toToolSettings } from './tool-fields.ts';
import { toolSecretOperations } from './tool-secrets.operations.ts';
import { toolTestOperations } from './tool-test.operations.ts';
import { toolkitOperations } from './toolkits.operations.ts';
import { ToolCreate, ToolDelete, ToolFilters, ToolParams, ToolUpdate, ToolView, toToolView } from './tool.schema.ts';

export const tools = area('Tools', {
  listTools: list(
    '/tools',
    {
      summary: 'List tools',
      description: 'Tools that the caller can see, newest first. q searches slug, display name and description.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      query: ToolFilters,
      view: ToolView,
    },
    async (ctx, { query: { toolkit_id: toolkitId, ...query } }) =>
      mapPage(await listToolRows(ctx, { ...query, ...(toolkitId === undefined ? {} : { toolkitId }) }, ctx.page), toToolView),
  ),

  createTool: post(
    '/tools',
    {
      summary: 'Create a tool',
      description:
        'Creates a tool that revisions can bind by id or slug. The kind determines the form of config, and also the input schema, except for http tools, code with a fixed source and client-owned tools.',
      access: 'admin',
      fails: ['already_exists', 'not_found'],
      audit: 'create',
      idempotent: true,
      location: (view: { readonly id: string }) => `/tools/${view.id}`,
      example: {
        body: {
          slug: 'find_order',
          kind: 'http',
          description: 'Finds an order by its number.',
          input_schema: {
            type: 'object',
            properties: { number: { type: 'string', maxLength: 40 } },
            required: ['number'],
            additionalProperties: false,
          },
          config: { method: 'GET', url: 'https://api.example.com/orders/{{ args.number }}' },
        },
      },
      body: ToolCreate,
      view: ToolView,
    },
    async (ctx, { body }) => {
      const rowScope = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const id = await createTool(ctx, rowScope, toNewToolSettings(body), toolRules(ctx));
      return toToolView(await readTool(ctx, id));
    },
  ),

  getTool: get(
    '/tools/{tool_id}',
    {
      summary: 'Read a tool',
      description: 'Returns one tool with its config. Secrets only appear by name.',
      access: 'viewer',
      mcp: true,
      etag: true,
      params: ToolParams,
      view: ToolView,
    },
    async (ctx, { params }) => {
      const row = await readTool(ctx, params.tool_id);
      return reply(toToolView(row), { version: row.rowVersion });
    },
  ),

  updateTool: patch(
    '/tools/{tool_id}',
    {
      summary: 'Change a tool',
      description:
        'Changes the fields that are sent and keeps the rest; config is replaced as a whole. Runs in flight keep the tool as it was when they began, but a tool that becomes inactive or critical is refused at its next call. A config that sends secrets to a different origin (scheme, host, port) erases the tool’s own values: set them again. Only callers who can set a secret of its workspace or organization can redirect that secret to a different origin (403).',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      etag: true,
      params: ToolParams,
      body: ToolUpdate,
      example: { body: { description: 'Finds an order by its number; gives its status and items.', timeout_s: 20 } },
      view: ToolView,
    },
    async (ctx, { params, body }) => {
      const tool = await seeForChange(ctx, Tool, params.tool_id, { versionProperty: 'rowVersion' });
      const before = auditedFields(tool);
      const dropped = await changeTool(ctx, tool, toToolSettings(body), toolRules(ctx));
      const changedSecrets = Object.fromEntries(dropped.map((name) => [name, { changed: true as const }]));
      ctx.audit(noteOfNamed('tool', tool, { ...changesOf(before, auditedFields(tool)), ...changedSecrets }));
      const row = await readTool(ctx, tool.id);
      return reply(toToolView(row), { version: row.rowVersion });
    },
  ),

  deleteTool: remove(
    '/tools/{tool_id}',
    {
      summary: 'Delete a tool',
      description:
        'Deletes a tool with its own secret values. While active revisions use it, the answer is 409 with the ids of at most 20 agents, unless force is true: then their runs continue without it.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'delete',
      openWhenSuspended: true,
      params: ToolParams,
      query: ToolDelete,
    },
    async (ctx, { params, query }) => {
      const tool = await seeForChange(ctx, Tool, params.tool_id, { versionProperty: null, openWhenSuspended: true });
      await deleteTool(ctx, tool, { force: query.force === true });
      ctx.audit(noteOfNamed('tool', tool));
      await forgetReplies(ctx, [tool.id]);
    },
  ),

  ...toolTestOperations,
  ...toolSecretOperations,

  ...toolkitOperations,
});
