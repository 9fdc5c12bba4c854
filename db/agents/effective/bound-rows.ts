import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import { isToolOn } from '../../tools/tool-on.sql.ts';
import type { ToolDescriptor } from '../../tools/tool-descriptor.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RevisionDocument } from '../revisions/revision-document.ts';

/** A tool that a revision binds, directly or through a toolkit, at the version that a run beginning now would pin. */
export interface BoundTool {
  readonly id: string;
  readonly slug: string;
  readonly version: number;
  readonly toolkit_id: string | null;
  readonly remote_name: string | null;
  /** The toolkit's revision that created the version. */
  readonly toolkit_revision_id: string | null;
  readonly is_active: boolean;
  readonly is_quarantined: boolean;
  /** The tool's current flag, whatever the version says. */
  readonly is_critical: boolean;
  /** Without description, input_schema and config unless texts are requested; a delegate always has its config. */
  readonly descriptor: BoundDescriptor;
  readonly secrets_missing: readonly string[];
}

/** Descriptors of older versions lack fields that were added later. */
export type BoundDescriptor = Pick<ToolDescriptor, 'kind' | 'effect' | 'concurrency' | 'timeout_s' | 'response_max_chars'> &
  Partial<Omit<ToolDescriptor, 'kind'>>;

export interface BoundToolkit {
  readonly id: string;
  readonly is_active: boolean;
  readonly active_revision_id: string | null;
}

/** A skill as a binding resolves it: a superseded skill resolves to its successor; `version` is null when nothing of it can be loaded. */
export interface BoundSkill {
  /** The skill that the binding names. */
  readonly id: string;
  readonly skill_id: string;
  readonly slug: string;
  readonly version: number | null;
  readonly description: string | null;
  readonly chars: number | null;
  /** Set only for `always` skills, when texts are requested. */
  readonly instructions: string | null;
}

/** An agent that a binding or a delegate tool may call. */
export interface BoundAgent {
  readonly id: string;
  readonly slug: string;
  /** `active` or a revision's id, as given by the binding or the tool. */
  readonly asked_revision: string;
  readonly name: string;
  readonly description: string | null;
  readonly is_active: boolean;
  /** The revision that a call would run; null when the agent has no such revision. */
  readonly revision_id: string | null;
  /** Input schema of that revision; also null when texts are not requested. */
  readonly input_schema: Readonly<Record<string, unknown>> | null;
}

export interface ResolvedBindings {
  readonly tools: readonly BoundTool[];
  readonly toolkits: readonly BoundToolkit[];
  readonly skills: readonly BoundSkill[];
  readonly sub_agents: readonly BoundAgent[];
}

export interface BoundAsk {
  readonly agentId: string;
  readonly document: RevisionDocument;
  /** Where the run works; without a workspace, only rows of a wider scope are usable. */
  readonly place: { readonly organizationId: string | null; readonly workspaceId: string | null };
  /** The user for whom the run works: a private skill is usable only for its owner. */
  readonly subjectUserId: string | null;
  /** Also reads descriptions, schemas and texts of skills. */
  readonly withTexts: boolean;
}

/** Reads everything that a revision binds in one statement, however much that is; sends no statement when it binds nothing. */
export async function readBoundRows(tx: Pick<TenantTransaction, 'em'>, ask: BoundAsk): Promise<ResolvedBindings> {
  const { document, place } = ask;
  const { tools, toolkits, skills, sub_agents: agents } = document;
  if (tools.length + toolkits.length + skills.length + agents.length === 0) return sorted([]);
  const found = await rows(
    tx.em,
    boundRows({
      organizationId: place.organizationId,
      workspaceId: place.workspaceId,
      withTexts: ask.withTexts,
      agentId: ask.agentId,
      userId: ask.subjectUserId,
      toolIds: tools.map(({ id }) => id),
      toolkitIds: toolkits.map(({ id }) => id),
      toolkitRevisions: toolkits.map(({ revision }) => (revision === 'active' ? null : revision)),
      skillIds: skills.map(({ id }) => id),
      skillVersions: skills.map(({ version }) => version),
      skillModes: skills.map(({ mode }) => mode),
      agentIds: agents.map(({ id }) => id),
      agentRevisions: agents.map(({ revision }) => revision),
    }),
  );
  return sorted(found);
}

/** One row of the statement: each kind has its own facts. */
type Found = {
  readonly [K in keyof ResolvedBindings]: { readonly kind: K; readonly facts: ResolvedBindings[K][number] };
}[keyof ResolvedBindings];

function sorted(found: readonly Found[]): ResolvedBindings {
  return {
    tools: found.flatMap((one) => (one.kind === 'tools' ? one.facts : [])),
    toolkits: found.flatMap((one) => (one.kind === 'toolkits' ? one.facts : [])),
    skills: found.flatMap((one) => (one.kind === 'skills' ? one.facts : [])),
    sub_agents: found.flatMap((one) => (one.kind === 'sub_agents' ? one.facts : [])),
  };
}

/** Returns a condition: rows that a run in `place` may use, i.e. those of the platform, of its organization and of its workspace. */
const inPlace = (at: string) =>
  sql.raw(
    `${at}.deleted_at is null and (${at}.organization_id is null or (${at}.organization_id = place.organization_id and (${at}.workspace_id is null or ${at}.workspace_id = place.workspace_id)))`,
  );

/** A condition: the secret has a value, either the tool's own or one in a scope of `place` that is no wider than the tool's. */
const hasSecret = sql`exists (
  select from secrets x where x.name = wanted.name and x.value_version > 0 and (
    (x.tool_id = t.id and (x.organization_id is null or x.organization_id = place.organization_id))
    or (x.tool_id is null and (
      (x.scope = 'workspace' and x.workspace_id = place.workspace_id)
      or (x.scope = 'organization' and t.scope <> 'workspace' and x.organization_id = place.organization_id)
      or (x.scope = 'platform' and t.scope = 'platform')))))`;

interface BoundArguments {
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly withTexts: boolean;
  readonly agentId: string;
  readonly userId: string | null;
  readonly toolIds: readonly string[];
  readonly toolkitIds: readonly string[];
  readonly toolkitRevisions: readonly (string | null)[];
  readonly skillIds: readonly string[];
  readonly skillVersions: readonly (number | null)[];
  readonly skillModes: readonly string[];
  readonly agentIds: readonly string[];
  readonly agentRevisions: readonly string[];
}

const boundRows = prepared((p: ParametersOf<BoundArguments>) =>
  query.selectFrom(boundFacts(p).as('found')).select(['found.kind', 'found.facts']).$castTo<Found>(),
);

const boundFacts = (p: ParametersOf<BoundArguments>) => sql<Found>`(
    with recursive place as (select ${p.organizationId}::uuid as organization_id, ${p.workspaceId}::uuid as workspace_id, ${p.withTexts}::boolean as with_texts, ${p.agentId}::uuid as agent_id, ${p.userId}::uuid as user_id, ${p.toolIds}::uuid[] as tool_ids),
    kits as (select * from unnest(${p.toolkitIds}::uuid[], ${p.toolkitRevisions}::uuid[]) as k (id, revision_id)),
    skill_bindings as (
      select b.ord, b.id, b.version, b.mode from unnest(${p.skillIds}::uuid[], ${p.skillVersions}::int[], ${p.skillModes}::text[]) with ordinality as b (id, version, mode, ord)
    ),
    -- A superseded skill leads to its successor, unless the binding pins a version.
    chain as (
      select b.ord, b.id, b.version, b.mode, s.id as skill_id, 0 as hops from skill_bindings b join skills s on s.id = b.id
      union all
      select c.ord, c.id, c.version, c.mode, s.superseded_by, c.hops + 1 from chain c join skills s on s.id = c.skill_id
       where c.version is null and s.curation_state = 'superseded' and s.superseded_by is not null and c.hops < 8
    ),
    reached as (select distinct on (ord) * from chain order by ord, hops desc),
    loadable as (
      select r.id, r.mode, s.id as skill_id, s.slug, s.is_active, s.curation_state,
             case when r.version is null then own.newest when r.version = own.newest or s.promoted_versions @> to_jsonb(r.version) then r.version end as version
        from reached r
        cross join place
        join skills s on s.id = r.skill_id and ${inPlace('s')} and (s.owner_user_id is null or s.owner_user_id = place.user_id)
        cross join lateral (
          select case when s.owner_agent_id = place.agent_id and s.curation_state = 'reviewed' then s.version else s.promoted_version end as newest
        ) own
       where s.is_active and s.curation_state not in ('retired', 'superseded') or (s.is_active and r.version is not null and s.curation_state = 'superseded')
    ),
    bound_tools as (
      select t.id, t.slug, v.version, t.toolkit_id, t.remote_name, v.toolkit_revision_id, ${sql.raw(isToolOn('t'))} as is_active, t.quarantined_at is not null as is_quarantined,
             t.critical, t.scope, v.descriptor
        from tools t
        cross join place
        -- A tool that is also bound directly uses its newest version, whatever revision its toolkit is pinned to.
        left join kits k on k.id = t.toolkit_id and t.id <> all (place.tool_ids)
        join lateral (
          select c.version, c.descriptor, c.toolkit_revision_id from (
            select n.version, n.descriptor, coalesce(n.toolkit_revision_id, (
                     select o.toolkit_revision_id from tool_versions o
                      where o.tool_id = t.id and o.version < n.version and o.toolkit_revision_id is not null order by o.version desc limit 1)) as toolkit_revision_id
              from tool_versions n where n.tool_id = t.id
          ) c where k.revision_id is null or c.toolkit_revision_id = k.revision_id order by c.version desc limit 1
        ) v on true
       where (t.id = any (place.tool_ids) or k.id is not null) and ${inPlace('t')}
    ),
    asked as (
      select a.id, a.revision from unnest(${p.agentIds}::uuid[], ${p.agentRevisions}::text[]) as a (id, revision)
      union
      select (d.descriptor #>> '{config,agent,id}')::uuid, coalesce(d.descriptor #>> '{config,revision}', 'active') from bound_tools d where d.descriptor ->> 'kind' = 'delegate'
    )
    select 'tools' as kind, jsonb_build_object('id', t.id, 'slug', t.slug, 'version', t.version, 'toolkit_id', t.toolkit_id, 'remote_name', t.remote_name,
             'toolkit_revision_id', t.toolkit_revision_id, 'is_active', t.is_active, 'is_quarantined', t.is_quarantined, 'is_critical', t.critical,
             'descriptor', case when place.with_texts then t.descriptor when t.descriptor ->> 'kind' = 'delegate' then t.descriptor - 'description' - 'input_schema'
               else t.descriptor - 'description' - 'input_schema' - 'config' end,
             'secrets_missing', (
               select coalesce(jsonb_agg(wanted.name order by wanted.name), '[]')
                 from jsonb_array_elements_text(coalesce(t.descriptor -> 'secrets_required', '[]')) wanted (name) where not ${hasSecret})) as facts
      from bound_tools t cross join place
    union all
    select 'toolkits', jsonb_build_object('id', k.id, 'is_active', k.is_active, 'active_revision_id', k.active_revision_id)
      from toolkits k cross join place where k.id in (select id from kits) and ${inPlace('k')}
    union all
    select 'skills', jsonb_build_object('id', l.id, 'skill_id', l.skill_id, 'slug', l.slug, 'version', l.version, 'description', sv.description,
             'chars', length(sv.instructions), 'instructions', case when place.with_texts and l.mode = 'always' then sv.instructions end)
      from loadable l cross join place left join skill_versions sv on sv.skill_id = l.skill_id and sv.version = l.version
    union all
    select 'sub_agents', jsonb_build_object('id', a.id, 'slug', a.slug, 'asked_revision', q.revision, 'name', a.name, 'description', a.description, 'is_active', a.is_active,
             'revision_id', r.id, 'input_schema', case when place.with_texts then nullif(r.document -> 'input_schema', 'null') end)
      from asked q join agents a on a.id = q.id cross join place
      left join agent_revisions r on r.agent_id = a.id and r.id = case when q.revision = 'active' then a.active_revision_id when q.revision ~ '^[0-9a-f-]{36}$' then q.revision::uuid end
     where ${inPlace('a')})`;
