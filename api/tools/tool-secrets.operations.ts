import { seeForChange } from '../../db/scope.ts';
import { Tool } from '../../db/tools/tool.entity.ts';
import { readTool } from '../../db/tools/tools.ts';
import { deleteToolSecret, setToolSecrets } from '../../domain/tools/tool-secrets.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import { put, remove } from '../http/operation/operation.ts';
import { ToolParams, ToolSecretParams, ToolSecretsPut, ToolView, toToolView } from './tool.schema.ts';

export const toolSecretOperations = {
  setToolSecrets: put(
    '/tools/{tool_id}/secrets',
    {
      summary: 'Set secrets of a tool',
      description:
        'Sets values that only this tool uses, in preference to those of its workspace and organization. Omitted names keep their values. Values are never returned.',
      access: 'admin',
      audit: 'update',
      notDelegable: true,
      params: ToolParams,
      body: ToolSecretsPut,
      view: ToolView,
      example: { body: { values: { orders_key: 'x3k-90-example' } } },
    },
    async (ctx, { params, body }) => {
      const tool = await seeForChange(ctx, Tool, params.tool_id, { versionProperty: null });
      await setToolSecrets(ctx, ctx.deps.keys, { tool, values: body.values, userId: ctx.caller.userId });
      const changes = Object.fromEntries(Object.keys(body.values).map((name) => [name, { changed: true as const }]));
      ctx.audit(noteOfNamed('tool', tool, changes));
      return toToolView(await readTool(ctx, tool.id));
    },
  ),

  deleteToolSecret: remove(
    '/tools/{tool_id}/secrets/{name}',
    {
      summary: 'Delete a secret of a tool',
      description:
        "Deletes the tool's own value of a name. The tool then uses the value of its workspace or organization, if there is one.",
      access: 'admin',
      audit: 'delete',
      notDelegable: true,
      openWhenSuspended: true,
      params: ToolSecretParams,
    },
    async (ctx, { params }) => {
      const tool = await seeForChange(ctx, Tool, params.tool_id, { versionProperty: null, openWhenSuspended: true });
      await deleteToolSecret(ctx, tool, params.name);
      ctx.audit(noteOfNamed('tool', tool, { [params.name]: { changed: true } }));
    },
  ),
};
