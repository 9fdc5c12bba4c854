import { mapPage } from '../../db/page.ts';
import { homeOfNewRow } from '../../db/scope.ts';
import { readEgressAllowlist } from '../../db/tenancy/egress-policy.ts';
import { insertTool, listToolRows, readTool } from '../../db/tools/tools.ts';
import { area, get, list, post, reply } from '../http/operation.ts';
import { shapeOf, toNewTool } from './tool-rules.ts';
import { ToolCreate, ToolFilters, ToolParams, ToolView, toToolView } from './tool.schema.ts';

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
        'Creates a tool that revisions can bind by id or slug. Its kind decides the form of config and, but for http, what the model may send.',
      access: 'admin',
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
      const home = await homeOfNewRow(ctx, { scope: body.scope, workspace_id: body.workspace_id });
      const policy = { allowHttp: ctx.deps.env.allowHttp, exceptions: await readEgressAllowlist(ctx, home.organizationId) };
      const shape = await shapeOf(body, { schemas: ctx.deps.schemas, templates: ctx.deps.templates, policy });
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
});
