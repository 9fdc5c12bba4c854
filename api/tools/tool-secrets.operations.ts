import { seeForChange } from '../../db/scope.ts';
import { deleteToolSecretRow, putToolSecret } from '../../db/tools/tool-secrets.ts';
import { Tool } from '../../db/tools/tool.entity.ts';
import { readTool } from '../../db/tools/tools.ts';
import { fail, type Violation } from '../../workflows/contracts/failure.ts';
import { noteOfNamed } from '../http/audit.ts';
import { put, remove } from '../http/operation.ts';
import { escapePointer } from '../http/text-scan.ts';
import { ToolParams, ToolSecretParams, ToolSecretsPut, ToolView, toToolView } from './tool.schema.ts';

export const toolSecretOperations = {
  setToolSecrets: put(
    '/tools/{tool_id}/secrets',
    {
      summary: 'Set secrets of a tool',
      description:
        'Sets values that this tool alone uses, before those of its workspace and organization. Names that are left out keep their values. Values are never returned.',
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
      const names = Object.keys(body.values);
      const unknown = names.filter((name) => !tool.secretsRequired.includes(name));
      if (unknown.length > 0)
        throw fail('validation_failed', { detail: 'The tool requires no such secret.', errors: unknown.map(notRequired) });

      const changes: Record<string, { changed: true }> = {};
      for (const [name, value] of Object.entries(body.values)) {
        await putToolSecret(ctx, ctx.deps.keys, { tool, name, value, userId: ctx.caller.userId });
        changes[name] = { changed: true };
      }
      ctx.audit(noteOfNamed('tool', tool, changes));
      return toToolView(await readTool(ctx, tool.id));
    },
  ),

  deleteToolSecret: remove(
    '/tools/{tool_id}/secrets/{name}',
    {
      summary: 'Delete a secret of a tool',
      description: "Deletes the tool's own value of a name. It then uses that of its workspace or organization, if there is one.",
      access: 'admin',
      audit: 'delete',
      notDelegable: true,
      openWhenFrozen: true,
      params: ToolSecretParams,
    },
    async (ctx, { params }) => {
      const tool = await seeForChange(ctx, Tool, params.tool_id, { versionProperty: null, openWhenFrozen: true });
      if (!(await deleteToolSecretRow(ctx, tool.id, params.name))) throw fail('not_found');
      ctx.audit(noteOfNamed('tool', tool, { [params.name]: { changed: true } }));
    },
  ),
};

function notRequired(name: string): Violation {
  const message = 'is not among the secrets that the tool requires';
  return { in: 'body', pointer: `/values/${escapePointer(name)}`, name: null, rule: 'unknown_field', message };
}
