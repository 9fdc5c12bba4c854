import type { Static } from 'typebox';
import { readAgent, type AgentRow } from '../../db/agents/agents.ts';
import { ownScopeOf } from '../../db/caller-scope.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { readCopiedParts } from '../../domain/agents/copied-parts.ts';
import { createWholeAgent, type PersonaToStore } from '../../domain/agents/create-agent.ts';
import type { Scope } from '../../workflows/contracts/access.ts';
import { checkBytes } from '../http/input/bounds.ts';
import { get, post } from '../http/operation/operation.ts';
import { AgentParams, AgentView, toAgentDetailView } from './agent.schema.ts';
import { checkImageUrls } from './image-url.ts';
import { toPersonaDraft, type PersonaDocument } from './persona.schema.ts';
import { AgentClone, AgentExportView, AgentImport, ExportQuery, toAgentExport } from './portability.schema.ts';
import { revisionChecks } from './revision-checks.ts';
import { toRevisionDraft } from './revision.schema.ts';

const maxImportBytes = 4 * 1024 * 1024;
const placesInImport = { at: '/revision', personasAt: '/personas' };

export const portabilityOperations = {
  importAgent: post(
    '/agents/import',
    {
      summary: 'Import an agent',
      description:
        'Creates an agent with its personas from an exported document. Its first revision is not activated. If any reference does not resolve here, nothing is stored and the reply lists all unresolved references.',
      access: 'member',
      fails: ['not_found', 'already_exists'],
      audit: 'create',
      idempotent: true,
      maxBodyBytes: maxImportBytes,
      location: (view: { readonly id: string }) => `/agents/${view.id}`,
      example: {
        body: {
          slug: 'guide',
          name: 'Guide',
          revision: { instructions: 'Answer briefly.' },
          personas: [{ slug: 'formal', name: 'Formal' }],
        },
      },
      body: AgentImport,
      view: AgentView,
    },
    async (ctx, { body }) => {
      checkBytes('/attributes', body.attributes, 16_384);
      const rowScope = await resolveNewRowScope(ctx, { scope: body.scope ?? null });
      await checkImageUrls(ctx, imagesOf(body), rowScope.organizationId);
      const personas = (body.personas ?? []).map(toNewPersona);
      const whole = { draft: body.revision ? toRevisionDraft(body.revision) : null, personas, ...placesInImport };
      const id = await createWholeAgent(ctx, { rowScope, fields: body, createdByUserId: ctx.caller.userId }, whole, revisionChecks(ctx));
      return toAgentDetailView(await readAgent(ctx, id));
    },
  ),

  exportAgent: get(
    '/agents/{agent_id}/export',
    {
      summary: 'Export an agent',
      description:
        'Exports the agent with one revision and its personas in the format that importAgent accepts: references by slug and scope, no ids, no secrets. A toolkit or sub-agent pinned to a revision is exported with its active revision.',
      access: 'member',
      mcp: true,
      params: AgentParams,
      query: ExportQuery,
      view: AgentExportView,
    },
    async (ctx, { params, query }) => {
      const agent = await readAgent(ctx, params.agent_id);
      return toAgentExport(agent, await readCopiedParts(ctx, agent, { revisionId: query.revision_id ?? null, pointer: null }));
    },
  ),

  cloneAgent: post(
    '/agents/{agent_id}/clone',
    {
      summary: 'Clone an agent',
      description:
        'Creates an agent with a copy of one revision and of the personas. The copied revision is not activated, and all of its references must also resolve in the scope of the clone.',
      access: 'member',
      fails: ['already_exists'],
      audit: 'create',
      idempotent: true,
      location: (view: { readonly id: string }) => `/agents/${view.id}`,
      example: { body: { slug: 'guide-copy', name: 'Guide, copy' } },
      params: AgentParams,
      body: AgentClone,
      view: AgentView,
    },
    async (ctx, { params, body }) => {
      const source = await readAgent(ctx, params.agent_id);
      const parts = await readCopiedParts(ctx, source, { revisionId: body.revision_id ?? null, pointer: '/revision_id' });
      const personas = body.include_personas === false ? [] : parts.personas;
      const rowScope = await resolveNewRowScope(ctx, rowScopeOfClone(source, { scope: body.scope ?? null, own: ownScopeOf(ctx.caller) }));
      const { description, avatarPreset, imageUrl, attributes } = source;
      const fields = {
        slug: body.slug,
        name: body.name ?? source.name,
        description,
        avatar_preset: avatarPreset,
        image_url: imageUrl,
        attributes,
      };
      const whole = {
        draft: parts.document,
        personas: personas.map((row) => ({ draft: row.document, isDefault: row.isDefault, isActive: row.isActive })),
        at: '/revision_id',
        personasAt: '/include_personas',
      };
      const id = await createWholeAgent(ctx, { rowScope, fields, createdByUserId: ctx.caller.userId }, whole, revisionChecks(ctx));
      return toAgentDetailView(await readAgent(ctx, id));
    },
  ),
};

/** Without an explicit scope, a clone gets the scope of its original, or that of its author's new rows if that is narrower. */
function rowScopeOfClone(source: AgentRow, { scope, own }: { scope: Scope | null; own: Scope }): Parameters<typeof resolveNewRowScope>[1] {
  if (source.scope === 'workspace' && (scope ?? 'workspace') === 'workspace') return { scope, workspace_id: source.workspaceId };
  // An operator's own rows are visible to everyone; the copy of an organization's agent must not be.
  if (scope === null && source.scope === 'organization' && own === 'platform') return { scope: 'organization' };
  return { scope };
}

function imagesOf(body: Static<typeof AgentImport>) {
  const ofPersonas = (body.personas ?? []).map(({ image_url: url }, index) => ({ pointer: `/personas/${index}/image_url`, url }));
  return [{ pointer: '/image_url', url: body.image_url }, ...ofPersonas];
}

function toNewPersona(body: Static<typeof PersonaDocument>): PersonaToStore {
  return { draft: toPersonaDraft(body), isDefault: body.is_default ?? false, isActive: body.is_active ?? true };
}
