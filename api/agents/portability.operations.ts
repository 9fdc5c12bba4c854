import type { Static } from 'typebox';
import { creatorOf } from '../../db/actor-ref.ts';
import type { Agent } from '../../db/agents/agent.entity.ts';
import { readAgent, type AgentRow } from '../../db/agents/agents.ts';
import { readCopiedParts } from '../../db/agents/copied-revision.ts';
import type { PersonaDraft } from '../../db/agents/persona-document.ts';
import { insertPersonas, type NewPersona } from '../../db/agents/personas.ts';
import type { RevisionDocument, RevisionDraft } from '../../db/agents/revision-document.ts';
import { insertRevision } from '../../db/agents/revisions.ts';
import { validatePersona } from '../../db/agents/validate-persona.ts';
import { refuseInvalid, validateRevision, type RevisionProblem } from '../../db/agents/validate-revision.ts';
import { scopeOf } from '../../db/reach.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import type { Scope } from '../../workflows/contracts/access.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { checkBytes } from '../http/input/bounds.ts';
import { get, post, type Ctx } from '../http/operation/operation.ts';
import { AgentParams, AgentView, toAgentDetailView } from './agent.schema.ts';
import { checkImageUrls } from './image-url.ts';
import { newAgent } from './new-agent.ts';
import { toPersonaDraft, type PersonaDocument } from './persona.schema.ts';
import { AgentClone, AgentExportView, AgentImport, ExportQuery, toAgentExport } from './portability.schema.ts';
import { revisionChecks } from './revision-checks.ts';
import { toRevisionDraft } from './revision.schema.ts';

const limitImportBytes = 4 * 1024 * 1024;
const placesInImport = { at: '/revision', personasAt: '/personas' };

export const portabilityOperations = {
  importAgent: post(
    '/agents/import',
    {
      summary: 'Import an agent',
      description:
        'Makes an agent with its personas from an exported document. Its first revision stays inactive. Every reference that does not resolve here is told, all in one answer, and nothing is stored.',
      access: 'member',
      fails: ['not_found', 'already_exists'],
      audit: 'create',
      idempotent: true,
      bodyLimitBytes: limitImportBytes,
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
      const home = await resolveNewRowScope(ctx, { scope: body.scope ?? null });
      await checkImageUrls(ctx, imagesOf(body), home.organizationId);
      const agent = newAgent(ctx, home, body);
      const personas = (body.personas ?? []).map(toNewPersona);
      await storeWhole(ctx, agent, { draft: body.revision ? toRevisionDraft(body.revision) : null, personas, ...placesInImport });
      return toAgentDetailView(await readAgent(ctx, agent.id));
    },
  ),

  exportAgent: get(
    '/agents/{agent_id}/export',
    {
      summary: 'Export an agent',
      description:
        'The agent with one revision and its personas as importAgent takes it: references by slug and scope, no ids, no secrets. A toolkit or sub-agent pinned to a revision is exported as its active one.',
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
        'A new agent with a copy of one revision and of the personas. The copied revision stays inactive, and each of its references must also resolve where the clone lives.',
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
      const home = await resolveNewRowScope(ctx, homeOfClone(source, { scope: body.scope ?? null, own: scopeOf(ctx.caller) }));
      const { description, avatar_preset, image_url, attributes } = source;
      const agent = newAgent(ctx, home, {
        slug: body.slug,
        name: body.name ?? source.name,
        description,
        avatar_preset,
        image_url,
        attributes,
      });
      await storeWhole(ctx, agent, {
        draft: parts.document,
        personas: personas.map((row) => ({ draft: row.document, isDefault: row.is_default, isActive: row.is_active })),
        at: '/revision_id',
        personasAt: '/include_personas',
      });
      return toAgentDetailView(await readAgent(ctx, agent.id));
    },
  ),
};

interface PersonaToStore {
  readonly draft: PersonaDraft;
  readonly isDefault: boolean;
  readonly isActive: boolean;
}

interface WholeAgent {
  readonly draft: RevisionDraft | RevisionDocument | null;
  readonly personas: readonly PersonaToStore[];
  /** Where in the body the revision stands. */
  readonly at: string;
  readonly personasAt: string;
}

/** A clone lives where its original does unless it is said otherwise, and where its author's new rows do when that is narrower. */
function homeOfClone(source: AgentRow, { scope, own }: { scope: Scope | null; own: Scope }): Parameters<typeof resolveNewRowScope>[1] {
  if (source.scope === 'workspace' && (scope ?? 'workspace') === 'workspace') return { scope, workspace_id: source.workspace_id };
  // An operator's own rows are everybody's: not so the copy of an organization's agent.
  if (scope === null && source.scope === 'organization' && own === 'platform') return { scope: 'organization' };
  return { scope };
}

function imagesOf(body: Static<typeof AgentImport>) {
  const ofPersonas = (body.personas ?? []).map(({ image_url: url }, index) => ({ pointer: `/personas/${index}/image_url`, url }));
  return [{ pointer: '/image_url', url: body.image_url }, ...ofPersonas];
}

/** Writes an agent with its first revision and its personas, or nothing: 422 tells everything that stands against it at once. */
async function storeWhole(ctx: Ctx, agent: Agent, { draft, personas, at, personasAt }: WholeAgent): Promise<void> {
  refuseUnclear(personas);
  const checks = revisionChecks(ctx);
  const problems: RevisionProblem[] = [];
  const revision = draft === null ? null : await validateRevision(ctx, { home: agent, draft }, checks);
  problems.push(...under(at, revision?.problems ?? []));
  const stored: NewPersona[] = [];
  for (const [index, { draft: persona, isDefault, isActive }] of personas.entries()) {
    const checked = await validatePersona(ctx, { home: agent, draft: persona }, checks);
    problems.push(...under(`${personasAt}/${index}`, checked.problems));
    stored.push({ document: checked.document, isDefault, isActive });
  }
  refuseInvalid(problems, '');

  await ctx.em.persist(agent).flush();
  if (revision) await insertRevision(ctx, { agent, document: revision.document, note: null, baseRevisionId: null });
  await insertPersonas(ctx, { agent, personas: stored, createdBy: creatorOf(ctx.actor) });
}

function under(prefix: string, problems: readonly RevisionProblem[]): RevisionProblem[] {
  return problems.map((problem) => ({ ...problem, pointer: prefix + problem.pointer }));
}

/** Two personas of one slug, or two defaults, could not both be stored. */
function refuseUnclear(personas: readonly PersonaToStore[]): void {
  const slugs = personas.map(({ draft }) => draft.slug);
  const twice = slugs.findIndex((slug, index) => slugs.indexOf(slug) < index);
  if (twice >= 0) throw invalid(`/personas/${twice}/slug`, 'uniqueItems', 'The slug is taken by another persona.');
  const second = personas.flatMap(({ isDefault }, index) => (isDefault ? [index] : []))[1];
  if (second !== undefined) throw invalid(`/personas/${second}/is_default`, 'uniqueItems', 'An agent has one default persona.');
}

function toNewPersona(body: Static<typeof PersonaDocument>): PersonaToStore {
  return { draft: toPersonaDraft(body), isDefault: body.is_default ?? false, isActive: body.is_active ?? true };
}
