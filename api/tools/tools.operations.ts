import type { Static } from 'typebox';
import { forgetReplies } from '../../db/http/idempotency.ts';
import { mapPage } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { dropOwnSecrets, isAimedAnew } from '../../db/secrets/secret-aim.ts';
import { creatableToolKinds } from '../../db/tools/tool-config.ts';
import { agentsUsing, deleteToolRow } from '../../db/tools/tool-use.ts';
import { Tool } from '../../db/tools/tool.entity.ts';
import { insertTool, listToolRows, readTool, updateToolRow } from '../../db/tools/tools.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { noteOfNamed } from '../http/audit.ts';
import { changesOf } from '../http/changes.ts';
import { area, get, list, patch, post, remove, reply, type AuditNote, type Ctx } from '../http/operation.ts';
import { refuseForeignAim } from './secret-aim-rules.ts';
import { checkConfigForm, toolChecks } from './tool-checks.ts';
import { auditedFields, refuseManaged, toChanges, toNewTool } from './tool-fields.ts';
import { shapeOf, type ToolShape } from './tool-rules.ts';
import { toolSecretOperations } from './tool-secrets.operations.ts';
import { toolTestOperations } from './tool-test.operations.ts';
import { toolkitOperations } from './toolkits.operations.ts';
import { ToolCreate, ToolDelete, ToolFilters, ToolParams, ToolUpdate, ToolView, toToolView } from './tool.schema.ts';

export const tools = area('Tools', {
  listTools: list(
    '/tools',
    {
      summary: 'List tools',
      description: 'Tools that the caller sees, newest first. q looks in slug, display name and description.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      query: ToolFilters,
      view: ToolView,
    },
    async (ctx, { query }) => mapPage(await listToolRows(ctx, query, ctx.page), toToolView),
  ),

  createTool: post(
    '/tools',
    {
      summary: 'Create a tool',
      description:
        'Creates a tool that revisions can bind by id or slug. The kind decides the form of config, and also what the model may send, except for http tools, code with a fixed source and client-owned tools.',
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
      const home = await resolveNewRowScope(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const draft = { kind: body.kind, config: body.config ?? {}, inputSchema: body.input_schema, clientOwned: body.client_owned ?? false };
      const shape = await shapeOf(draft, await toolChecks(ctx, home));
      await refuseForeignAim(ctx, home, [{ before: null, after: shape.config }]);
      const id = await insertTool(ctx, { ...home, ...toNewTool(body, shape) });
      return toToolView(await readTool(ctx, id));
    },
  ),

  getTool: get(
    '/tools/{tool_id}',
    {
      summary: 'Read a tool',
      description: 'One tool with its config. Secrets appear by name only.',
      access: 'viewer',
      mcp: true,
      etag: true,
      params: ToolParams,
      view: ToolView,
    },
    async (ctx, { params }) => {
      const row = await readTool(ctx, params.tool_id);
      return reply(toToolView(row), { version: row.row_version });
    },
  ),

  updateTool: patch(
    '/tools/{tool_id}',
    {
      summary: 'Change a tool',
      description:
        'Changes what is sent and keeps the rest; config is replaced whole. Runs in flight keep the tool as they began with it, but one that becomes inactive or critical is refused at its next call. A config that sends secrets to another origin (scheme, host, port) drops the values that the tool has of its own: set them again. A secret of its workspace or organization is aimed at another origin only by who may set that secret (403).',
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
      refuseManaged(tool, Object.keys(body));
      const shape = await shapeOfUpdate(ctx, tool, body);
      const before = auditedFields(tool);
      const dropped = shape === null ? {} : await aimAnew(ctx, tool, shape.config);
      await updateToolRow(ctx, tool, toChanges(tool, body, shape));
      ctx.audit(noteOfNamed('tool', tool, { ...changesOf(before, auditedFields(tool)), ...dropped }));
      const row = await readTool(ctx, tool.id);
      return reply(toToolView(row), { version: row.row_version });
    },
  ),

  deleteTool: remove(
    '/tools/{tool_id}',
    {
      summary: 'Delete a tool',
      description:
        'Deletes a tool with its own secret values. While active revisions use it the answer is 409 with the ids of at most 20 agents, unless force is true: then their runs go on without it.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'delete',
      openWhenFrozen: true,
      params: ToolParams,
      query: ToolDelete,
    },
    async (ctx, { params, query }) => {
      const tool = await seeForChange(ctx, Tool, params.tool_id, { versionProperty: null, openWhenFrozen: true });
      if (tool.toolkitId !== null)
        throw fail('state_conflict', { reason: 'managed_by_toolkit', detail: 'The tool goes with its toolkit.' });
      const usedBy = query.force === true ? [] : await agentsUsing(ctx, tool.id);
      if (usedBy.length > 0)
        throw fail('state_conflict', { reason: 'in_use', detail: 'Active revisions use this tool.', context: { used_by: usedBy } });

      ctx.audit(noteOfNamed('tool', tool));
      await deleteToolRow(ctx, tool);
      await forgetReplies(ctx, [tool.id]);
    },
  ),

  ...toolTestOperations,
  ...toolSecretOperations,

  ...toolkitOperations,
});

/** What an update of its config means for the secrets of a tool. Gives what the audit log is told of values that go. */
async function aimAnew(ctx: Ctx, tool: Tool, config: Record<string, unknown>): Promise<AuditNote['changes']> {
  await refuseForeignAim(ctx, tool, [{ before: tool.config, after: config }]);
  const dropped = isAimedAnew(tool.config, config) ? await dropOwnSecrets(ctx, [tool.id]) : [];
  return Object.fromEntries(dropped.map((name) => [name, { changed: true }]));
}

/** The shape that an update gives the tool; null when the body says nothing of it. */
async function shapeOfUpdate(ctx: Ctx, tool: Tool, body: Static<typeof ToolUpdate>): Promise<ToolShape | null> {
  const kind = creatableToolKinds.find((one) => one === tool.kind);
  const isAsked = body.config !== undefined || body.input_schema !== undefined || body.client_owned !== undefined;
  if (!isAsked || kind === undefined) return null;

  const clientOwned = body.client_owned ?? tool.clientOwned;
  const config = body.config ?? tool.config;
  const isBare = clientOwned && Object.keys(config).length === 0;
  if (!isBare) checkConfigForm(kind, config);
  const mayHaveSchema = clientOwned || kind === 'http' || (kind === 'code_exec' && typeof config['source'] === 'string');
  const inputSchema = body.input_schema ?? (mayHaveSchema ? tool.inputSchema : undefined);
  return shapeOf({ kind, config, inputSchema, clientOwned }, await toolChecks(ctx, tool));
}
