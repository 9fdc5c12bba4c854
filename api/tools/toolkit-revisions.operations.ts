import { creatorOf } from '../../db/actor-ref.ts';
import { endEarly, mapPage } from '../../db/page.ts';
import { seeForChange } from '../../db/scope.ts';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';
import { Toolkit } from '../../db/toolkits/toolkit.entity.ts';
import { listToolkitRevisionRows, readToolkit, readToolkitRevision, requireToolkit } from '../../db/toolkits/toolkits.ts';
import { configsInForce } from '../../db/tools/tools-of-toolkit.ts';
import { activateToolkitRevision, executionOf } from '../../domain/toolkits/activate.ts';
import { addToolkitRevision } from '../../domain/toolkits/revisions.ts';
import { toolsByHand, type SourceTools } from '../../domain/toolkits/source-tools.ts';
import { Failure, invalid } from '../../workflows/contracts/failure.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import { list, post, reply, type Ctx } from '../http/operation/operation.ts';
import { ToolkitRevisionView, toToolkitRevisionView } from '../http/views/toolkit-revision-view.ts';
import { ToolkitRevisionActivate, ToolkitRevisionCreate, ToolkitRevisionParams } from './toolkit-revision.schema.ts';
import { refuseForeignAim } from './secret-aim-rules.ts';
import { toolChecks } from './tool-checks.ts';
import { readSource } from './toolkit-sources.ts';
import { ToolkitParams, ToolkitView, toToolkitView } from './toolkit.schema.ts';

const maxBytes = 4 * 1024 * 1024;

export const toolkitRevisionOperations = {
  listToolkitRevisions: list(
    '/toolkits/{toolkit_id}/revisions',
    {
      summary: 'List the revisions of a toolkit',
      description: 'All revisions, newest first, without their tools. A page ends early at 4 MiB.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      params: ToolkitParams,
      view: ToolkitRevisionView,
    },
    async (ctx, { params }) => {
      await requireToolkit(ctx, params.toolkit_id);
      const page = await listToolkitRevisionRows(ctx, params.toolkit_id, ctx.page);
      const bounded = endEarly(page, {
        limit: maxBytes,
        sizeOf: (row) => Buffer.byteLength(JSON.stringify(row)),
        positionOf: (row) => [row.id],
      });
      return mapPage(bounded, toToolkitRevisionView);
    },
  ),

  createToolkitRevision: post(
    '/toolkits/{toolkit_id}/revisions',
    {
      summary: 'Add a revision to a toolkit',
      description:
        'Creates tools from an OpenAPI document (3.0 to 3.2, text of at most 4 MiB or an attachment of at most 25 MiB, with internal references only) or from a list, and returns for each tool how it differs from the active revision. Nothing takes effect before the revision is activated. include and exclude select operations first; an operation that cannot be sent, or exceeds 200 operations or 4 MiB in total, is omitted and listed with the reason. A document without a usable operation is refused.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'create',
      idempotent: true,
      resourceType: 'toolkit_revision',
      maxBodyBytes: maxBytes,
      success: [201],
      identify: readSource,
      example: {
        body: {
          source: {
            type: 'manual',
            tools: [
              {
                name: 'find_order',
                description: 'Finds an order by its number.',
                input_schema: { type: 'object', properties: { number: { type: 'string', maxLength: 40 } }, required: ['number'] },
                config: { method: 'GET', url: 'https://api.example.com/orders/{{ args.number }}' },
              },
            ],
          },
          note: 'first tools',
        },
      },
      params: ToolkitParams,
      body: ToolkitRevisionCreate,
      view: ToolkitRevisionView,
    },
    async (ctx, { params, body, identified }) => {
      const toolkit = await seeForChange(ctx, Toolkit, params.toolkit_id);
      const { tools, sourceHash, leftOut } = await toolsOf(ctx, toolkit, { body, read: identified });
      const { id } = await addToolkitRevision(ctx, toolkit, {
        origin: body.source.type,
        tools,
        sourceHash,
        leftOut,
        note: body.note ?? null,
        createdBy: creatorOf(ctx.actor),
      });
      ctx.audit({ ...noteOfNamed('toolkit_revision', toolkit), resourceId: id });
      return toToolkitRevisionView(await readToolkitRevision(ctx, toolkit.id, id));
    },
  ),

  activateToolkitRevision: post(
    '/toolkits/{toolkit_id}/revisions/{revision_id}/activate',
    {
      summary: 'Activate a revision of a toolkit',
      description:
        'Approves tools as defined in the revision: they are created, changed or released from quarantine; tools that it does not contain are removed. Activating an older revision rolls back. Runs in flight keep the versions with which they began. Effects claimed by a server are not trusted: a remote tool counts as write unless overrides says read.',
      access: 'admin',
      fails: ['already_exists', 'state_conflict'],
      audit: 'approve',
      success: [200],
      params: ToolkitRevisionParams,
      body: ToolkitRevisionActivate,
      example: { body: { approve: 'all', overrides: { find_order: { effect: 'read', timeout_s: 20 } } } },
      view: ToolkitView,
    },
    async (ctx, { params, body }) => {
      const toolkit = await seeForChange(ctx, Toolkit, params.toolkit_id, { versionProperty: 'rowVersion' });
      const revision = await readToolkitRevision(ctx, toolkit.id, params.revision_id);
      const from = toolkit.activeRevisionId;
      await refuseForeignAims(ctx, toolkit, { tools: revision.tools, approve: body.approve });
      await activateToolkitRevision(ctx, toolkit, { revision, approve: body.approve, overrides: body.overrides ?? {} });
      ctx.audit(noteOfNamed('toolkit', toolkit, { active_revision_id: { from, to: revision.id }, approved: { to: body.approve } }));
      const row = await readToolkit(ctx, toolkit.id);
      return reply(toToolkitView(row), { version: row.rowVersion });
    },
  ),
};

/** Applies `refuseForeignAim` to the tools that are approved: they take effect with the secrets that they name. */
async function refuseForeignAims(
  ctx: Ctx,
  toolkit: Toolkit,
  { tools, approve }: { readonly tools: readonly ToolkitTool[]; readonly approve: 'all' | readonly string[] },
): Promise<void> {
  const inForce = await configsInForce(ctx, toolkit.id);
  const changes = tools.flatMap(({ name, execution }) => {
    if (!execution || (approve !== 'all' && !approve.includes(name))) return [];
    return [{ before: inForce.get(name) ?? null, after: executionOf(toolkit, execution.config) }];
  });
  await refuseForeignAim(ctx, toolkit, changes);
}

interface Asked {
  readonly body: ToolkitRevisionCreate;
  readonly read: SourceTools | Failure | null;
}

async function toolsOf(ctx: Ctx, toolkit: Toolkit, { body, read }: Asked): Promise<SourceTools> {
  const { source } = body;
  if (toolkit.kind === 'mcp')
    throw invalid('/source/type', 'enum', 'The tools of an MCP server are read in a sync, not from a document.', { kind: 'mcp' });
  if (source.type !== toolkit.kind)
    throw invalid('/source/type', 'enum', 'The source does not match the kind of the toolkit.', { kind: toolkit.kind });
  if (source.type === 'manual') return toolsByHand(source.tools, await toolChecks(ctx, toolkit));
  if (read instanceof Failure) throw read;
  if (read === null) throw new Error('A document of a toolkit that is visible was not read');
  return read;
}
