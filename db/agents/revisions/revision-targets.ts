import { type Expression, sql } from 'kysely';
import { rankOf, type Scope } from '../../../workflows/contracts/access.ts';
import type { CurationState } from '../../../workflows/contracts/knowledge/curation.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import { isToolOn } from '../../tools/tool-on.sql.ts';
import type { ToolkitRevisionState } from '../../../workflows/contracts/tools/toolkit-sync.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { Ref, RevisionDraft } from './revision-document.ts';

/** The row scope of a document's agent: it may refer to rows of its own scope or a wider one. */
export interface RevisionScope {
  /** The agent itself, which must not delegate to itself; absent while it has no row. */
  readonly id?: string;
  readonly scope: Scope;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

export interface Target {
  readonly id: string;
  readonly slug: string;
  readonly scope: Scope;
  readonly is_active: boolean;
}

export interface ToolTarget extends Target {
  readonly toolkit_id: string | null;
  readonly is_quarantined: boolean;
  readonly critical: boolean;
  readonly timeout_s: number;
  readonly input_schema: { readonly properties?: Record<string, unknown>; readonly additionalProperties?: unknown };
}

export interface ToolkitTarget extends Target {
  readonly active_revision_id: string | null;
  /** The active revision and those that the draft names by id. */
  readonly revisions: readonly { readonly id: string; readonly state: ToolkitRevisionState; readonly names: readonly string[] }[];
}

export interface SkillTarget extends Target {
  readonly version: number;
  readonly promoted_version: number | null;
  /** All versions that were ever promoted. */
  readonly promoted_versions: readonly number[];
  readonly curation_state: CurationState;
  readonly owner_agent_id: string | null;
  readonly superseded_by: string | null;
}

export interface AgentTarget extends Target {
  readonly active_revision_id: string | null;
  /** The revisions that the draft names by id. */
  readonly revision_ids: readonly string[];
  readonly persona_slugs: readonly string[];
}

/** Everything that the references of a draft may mean, each kind ordered from near to far. */
export interface RevisionTargets {
  readonly tools: readonly ToolTarget[];
  readonly toolkits: readonly ToolkitTarget[];
  readonly skills: readonly SkillTarget[];
  readonly agents: readonly AgentTarget[];
  readonly knowledge: readonly Target[];
}

/** One row of the statement: each kind has its own facts. */
type Found = {
  readonly [K in keyof RevisionTargets]: Target & { readonly kind: K; readonly facts: Omit<RevisionTargets[K][number], keyof Target> };
}[keyof RevisionTargets];

type Asking = Pick<TenantTransaction, 'em' | 'tenant' | 'actor'>;

/** Reads what the references of a draft may mean in one statement, however many there are; sends none for a draft without references. */
export async function readTargets(tx: Asking, rowScope: RevisionScope, draft: RevisionDraft): Promise<RevisionTargets> {
  const { tools = [], toolkits = [], skills = [], sub_agents: agents = [], knowledge = [] } = draft;
  if (tools.length + toolkits.length + skills.length + agents.length + knowledge.length === 0) return sorted([]);
  const [toolIds, toolSlugs] = namesOf(tools);
  const [toolkitIds, toolkitSlugs] = namesOf(toolkits);
  const [skillIds, skillSlugs] = namesOf(skills);
  const [agentIds, agentSlugs] = namesOf(agents);
  const [baseIds, baseSlugs] = namesOf(knowledge);
  const found = await rows(
    tx.em,
    targets({
      isOperator: tx.tenant.isOperator,
      organizationId: rowScope.organizationId,
      workspaceId: rowScope.workspaceId,
      agentId: rowScope.id ?? null,
      userId: tx.tenant.userId,
      seesPrivate: seesPrivate(tx),
      ...{ toolIds, toolSlugs, toolkitIds, toolkitSlugs, skillIds, skillSlugs, agentIds, agentSlugs, baseIds, baseSlugs },
      toolkitRevisions: fixedRevisions(toolkits),
      agentRevisions: fixedRevisions(agents),
    }),
  );
  return sorted(found);
}

function sorted(found: readonly Found[]): RevisionTargets {
  return {
    tools: found.flatMap(({ kind, facts, ...target }) => (kind === 'tools' ? { ...facts, ...target } : [])),
    toolkits: found.flatMap(({ kind, facts, ...target }) => (kind === 'toolkits' ? { ...facts, ...target } : [])),
    skills: found.flatMap(({ kind, facts, ...target }) => (kind === 'skills' ? { ...facts, ...target } : [])),
    agents: found.flatMap(({ kind, facts, ...target }) => (kind === 'agents' ? { ...facts, ...target } : [])),
    knowledge: found.flatMap(({ kind, facts, ...target }) => (kind === 'knowledge' ? { ...facts, ...target } : [])),
  };
}

/** Returns the target by id, else the nearest one with the slug; targets are ordered from near to far. */
export function nearest<T extends Target>(targets: readonly T[], ref: Ref): T | undefined {
  if (ref.id !== undefined) return targets.find((target) => target.id === ref.id);
  return targets.find((target) => target.slug === ref.slug && (!ref.scope || target.scope === ref.scope));
}

interface TargetArguments {
  readonly isOperator: boolean;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly agentId: string | null;
  readonly userId: string | null;
  readonly seesPrivate: boolean;
  readonly toolIds: readonly string[];
  readonly toolSlugs: readonly string[];
  readonly toolkitIds: readonly string[];
  readonly toolkitSlugs: readonly string[];
  readonly toolkitRevisions: readonly string[];
  readonly skillIds: readonly string[];
  readonly skillSlugs: readonly string[];
  readonly agentIds: readonly string[];
  readonly agentSlugs: readonly string[];
  readonly agentRevisions: readonly string[];
  readonly baseIds: readonly string[];
  readonly baseSlugs: readonly string[];
}

type Parameters = ParametersOf<TargetArguments>;

const targets = prepared((p: Parameters) =>
  query
    .selectFrom(namedTargets(p).as('found'))
    .select(['found.kind', 'found.id', 'found.slug', 'found.scope', 'found.is_active', 'found.facts'])
    .orderBy(sql`array_position(array['workspace', 'organization', 'platform'], found.scope)`)
    .$castTo<Found>(),
);

const named = (at: string, ids: Expression<readonly string[]>, slugs: Expression<readonly string[]>) =>
  sql`${sql.ref(`${at}.deleted_at`)} is null and (${sql.ref(`${at}.id`)} = any (${ids}::uuid[]) or ${sql.ref(`${at}.slug`)} = any (${slugs}::text[]))`;

function visibleAt(at: string, { isOperator, organizationId, workspaceId }: Parameters) {
  const column = (name: string) => sql.ref(`${at}.${name}`);
  return sql`((${column('scope')} = 'platform' and (${column('is_active')} or ${isOperator}::boolean))
    or (${column('organization_id')} = ${organizationId}::uuid and (${column('workspace_id')} is null or ${column('workspace_id')} = ${workspaceId}::uuid)))`;
}

const namedTargets = (p: Parameters) => sql<Found>`(
    select 'tools' as kind, t.id, t.slug, t.scope::text as scope, ${sql.raw(isToolOn('t'))} as is_active,
           jsonb_build_object('toolkit_id', t.toolkit_id, 'is_quarantined', t.quarantined_at is not null, 'critical', t.critical,
             'timeout_s', t.timeout_s, 'input_schema', t.input_schema) as facts
      from tools t where ${named('t', p.toolIds, p.toolSlugs)} and ${visibleAt('t', p)}
    union all
    select 'toolkits', k.id, k.slug, k.scope::text, k.is_active,
           jsonb_build_object('active_revision_id', k.active_revision_id, 'revisions', (
             select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'state', r.state, 'names', (
                      select coalesce(jsonb_agg(tool ->> 'name'), '[]') from jsonb_array_elements(r.tools) tool))), '[]')
               from toolkit_revisions r where r.toolkit_id = k.id and (r.id = k.active_revision_id or r.id = any (${p.toolkitRevisions}::uuid[]))))
      from toolkits k where ${named('k', p.toolkitIds, p.toolkitSlugs)} and ${visibleAt('k', p)}
    union all
    select 'skills', s.id, s.slug, s.scope::text, s.is_active,
           jsonb_build_object('version', s.version, 'promoted_version', s.promoted_version, 'promoted_versions', s.promoted_versions, 'curation_state', s.curation_state,
             'owner_agent_id', s.owner_agent_id, 'superseded_by', s.superseded_by)
      from skills s where ${named('s', p.skillIds, p.skillSlugs)} and ${visibleAt('s', p)} and (s.owner_user_id is null or ${p.seesPrivate}::boolean or s.owner_user_id = ${p.userId}::uuid)
    union all
    select 'agents', a.id, a.slug, a.scope::text, a.is_active,
           jsonb_build_object('active_revision_id', a.active_revision_id,
             'revision_ids', (select coalesce(jsonb_agg(v.id), '[]') from agent_revisions v where v.agent_id = a.id and v.id = any (${p.agentRevisions}::uuid[])),
             'persona_slugs', (select coalesce(jsonb_agg(p.slug), '[]') from personas p where p.agent_id = a.id and p.is_active and p.deleted_at is null))
      from agents a where ${named('a', p.agentIds, p.agentSlugs)} and ${visibleAt('a', p)}
    union all
    select 'knowledge', b.id, b.slug, b.scope::text, true, '{}'
      from knowledge_bases b where ${named('b', p.baseIds, p.baseSlugs)} and b.activated_at is not null
       and (b.organization_id is null or (b.organization_id = ${p.organizationId}::uuid and (b.workspace_id is null or b.workspace_id = ${p.workspaceId}::uuid)))
       and (not b.is_private or ${p.seesPrivate}::boolean or b.owner_agent_id = ${p.agentId}::uuid or (b.subject_kind = 'user' and b.subject_id = ${p.userId}::text) or exists (
         select from knowledge_grants g where g.kb_id = b.id and g.principal_kind = 'user' and g.principal_id = ${p.userId}::uuid and (g.expires_at is null or g.expires_at > now()))))`;

function namesOf(refs: readonly Ref[]): [string[], string[]] {
  return [refs.flatMap((ref) => ref.id ?? []), refs.flatMap((ref) => ref.slug ?? [])];
}

function fixedRevisions(bindings: readonly { readonly revision?: string }[]): string[] {
  return bindings.flatMap(({ revision = 'active' }) => (revision === 'active' ? [] : [revision]));
}

/** Whether the caller sees private rows of other users. */
function seesPrivate({ actor, tenant }: Asking): boolean {
  return tenant.isOperator || (actor.role !== null && rankOf(actor.role) >= rankOf('admin'));
}
