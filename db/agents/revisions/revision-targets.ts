import { rankOf, type Scope } from '../../../workflows/contracts/access.ts';
import type { CurationState } from '../../skills/skill.entity.ts';
import { rows } from '../../sql.ts';
import { isToolOn } from '../../tools/tool-on.sql.ts';
import type { ToolkitRevisionState } from '../../../workflows/contracts/tools/toolkits.ts';
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

interface FoundTarget extends Target {
  readonly kind: keyof RevisionTargets;
  readonly facts: Record<string, unknown>;
}

type Asking = Pick<TenantTransaction, 'em' | 'tenant' | 'actor'>;

/** Reads what the references of a draft may mean in one statement, however many there are; sends none for a draft without references. */
export async function readTargets(tx: Asking, home: RevisionScope, draft: RevisionDraft): Promise<RevisionTargets> {
  const { tools = [], toolkits = [], skills = [], sub_agents: agents = [], knowledge = [] } = draft;
  const targets: Record<keyof RevisionTargets, Target[]> = { tools: [], toolkits: [], skills: [], agents: [], knowledge: [] };
  if (tools.length + toolkits.length + skills.length + agents.length + knowledge.length > 0) {
    const reach = [tx.tenant.isOperator, home.organizationId, home.workspaceId];
    const found = await rows<FoundTarget>(tx.em, targetsSql, [
      ...namesOf(tools),
      ...reach,
      fixedRevisions(toolkits),
      ...namesOf(toolkits),
      ...reach,
      ...namesOf(skills),
      ...reach,
      seesPrivate(tx),
      tx.tenant.userId,
      fixedRevisions(agents),
      ...namesOf(agents),
      ...reach,
      ...namesOf(knowledge),
      home.organizationId,
      home.workspaceId,
      seesPrivate(tx),
      home.id ?? null,
      tx.tenant.userId,
      tx.tenant.userId,
    ]);
    for (const { kind, facts, ...target } of found) targets[kind].push({ ...facts, ...target });
  }
  // The statement below returns each kind with its own facts.
  return targets as unknown as RevisionTargets;
}

/** Returns the target by id, else the nearest one with the slug; targets are ordered from near to far. */
export function nearest<T extends Target>(targets: readonly T[], ref: Ref): T | undefined {
  if (ref.id !== undefined) return targets.find((target) => target.id === ref.id);
  return targets.find((target) => target.slug === ref.slug && (!ref.scope || target.scope === ref.scope));
}

const named = (at: string) => `${at}.deleted_at is null and (${at}.id = any (?::uuid[]) or ${at}.slug = any (?::text[]))`;
const visibleAt = (at: string) =>
  `((${at}.scope = 'platform' and (${at}.is_active or ?::boolean)) or (${at}.organization_id = ?::uuid and (${at}.workspace_id is null or ${at}.workspace_id = ?::uuid)))`;

const targetsSql = `
  select found.* from (
    select 'tools' as kind, t.id, t.slug, t.scope::text as scope, ${isToolOn('t')} as is_active,
           jsonb_build_object('toolkit_id', t.toolkit_id, 'is_quarantined', t.quarantined_at is not null, 'critical', t.critical,
             'timeout_s', t.timeout_s, 'input_schema', t.input_schema) as facts
      from tools t where ${named('t')} and ${visibleAt('t')}
    union all
    select 'toolkits', k.id, k.slug, k.scope::text, k.is_active,
           jsonb_build_object('active_revision_id', k.active_revision_id, 'revisions', (
             select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'state', r.state, 'names', (
                      select coalesce(jsonb_agg(tool ->> 'name'), '[]') from jsonb_array_elements(r.tools) tool))), '[]')
               from toolkit_revisions r where r.toolkit_id = k.id and (r.id = k.active_revision_id or r.id = any (?::uuid[]))))
      from toolkits k where ${named('k')} and ${visibleAt('k')}
    union all
    select 'skills', s.id, s.slug, s.scope::text, s.is_active,
           jsonb_build_object('version', s.version, 'promoted_version', s.promoted_version, 'promoted_versions', s.promoted_versions, 'curation_state', s.curation_state,
             'owner_agent_id', s.owner_agent_id, 'superseded_by', s.superseded_by)
      from skills s where ${named('s')} and ${visibleAt('s')} and (s.owner_user_id is null or ?::boolean or s.owner_user_id = ?::uuid)
    union all
    select 'agents', a.id, a.slug, a.scope::text, a.is_active,
           jsonb_build_object('active_revision_id', a.active_revision_id,
             'revision_ids', (select coalesce(jsonb_agg(v.id), '[]') from agent_revisions v where v.agent_id = a.id and v.id = any (?::uuid[])),
             'persona_slugs', (select coalesce(jsonb_agg(p.slug), '[]') from personas p where p.agent_id = a.id and p.is_active and p.deleted_at is null))
      from agents a where ${named('a')} and ${visibleAt('a')}
    union all
    select 'knowledge', b.id, b.slug, b.scope::text, true, '{}'
      from knowledge_bases b where ${named('b')} and b.activated_at is not null
       and (b.organization_id is null or (b.organization_id = ?::uuid and (b.workspace_id is null or b.workspace_id = ?::uuid)))
       and (not b.is_private or ?::boolean or b.owner_agent_id = ?::uuid or (b.subject_kind = 'user' and b.subject_id = ?::text) or exists (
         select from knowledge_grants g where g.kb_id = b.id and g.principal_kind = 'user' and g.principal_id = ?::uuid and (g.expires_at is null or g.expires_at > now())))
  ) found
  order by array_position(array['workspace', 'organization', 'platform'], found.scope)`;

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
