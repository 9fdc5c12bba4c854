import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { RevisionLimits, RevisionVariable } from '../agents/revision-document.ts';
import { row } from '../sql.ts';
import type { Unit } from '../unit.ts';
import type { StartRun } from './start-run.ts';

/** Live runs a workspace may have at a time. */
export const limitLiveRuns = 20_000;

/** Where a run goes and what it runs: everything resolved, all of it visible to the starter. */
export interface StartTarget {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly agentSlug: string;
  readonly revisionId: string;
  readonly limits: RevisionLimits;
  readonly variables: readonly RevisionVariable[];
  /** The persona of runs that name none. */
  readonly defaultPersonaSlug: string | null;
  /** Why the workspace takes no runs; null while it does. */
  readonly frozenReason: string | null;
  readonly isAgentActive: boolean;
  readonly liveRuns: number;
}

interface TargetRow {
  readonly chosen_id: string | null;
  readonly workspace_id: string | null;
  readonly organization_id: string | null;
  readonly frozen_reason: string | null;
  readonly agent_id: string | null;
  readonly agent_slug: string | null;
  readonly is_agent_active: boolean | null;
  readonly revision_id: string | null;
  readonly limits: RevisionLimits | null;
  readonly variables: RevisionVariable[] | null;
  readonly has_persona: boolean;
  readonly default_persona_slug: string | null;
  readonly live_runs: number;
}

// A slug means the nearest agent: workspace, then organization, then platform. The agent of a run lies in its workspace or wider.
const targetSql = `
  with asker as (select ?::uuid as organization_id, ?::boolean as sees_all, ?::uuid[] as workspace_ids, ?::boolean as is_operator),
  chosen as (
    select coalesce(
      ?::uuid,
      (select a.workspace_id from agents a where a.id = ?::uuid and a.deleted_at is null
        and (s.is_operator or (a.organization_id = s.organization_id and (s.sees_all or a.workspace_id = any (s.workspace_ids))))),
      ?::uuid,
      (select case when count(*) = 1 then min(w.id::text)::uuid end from workspaces w
        where w.organization_id = s.organization_id and (s.sees_all or w.id = any (s.workspace_ids)) and w.is_active)
    ) as id
    from asker s
  )
  select c.id as chosen_id, w.id as workspace_id, w.organization_id,
         case when o.status <> 'active' then 'organization_' || o.status when not w.is_active then 'workspace_archived' end as frozen_reason,
         a.id as agent_id, a.slug as agent_slug, a.is_active as is_agent_active,
         v.id as revision_id, v.document -> 'limits' as limits, v.document -> 'variables' as variables,
         exists (select from personas p where p.agent_id = a.id and p.slug = ?::text and p.is_active and p.deleted_at is null) as has_persona,
         (select p.slug from personas p where p.agent_id = a.id and p.is_default and p.is_active and p.deleted_at is null) as default_persona_slug,
         (select count(*)::int from (
            select from runs l where l.workspace_id = w.id and l.status in ('queued', 'running', 'waiting', 'cancelling') limit ${limitLiveRuns}) live) as live_runs
    from asker s
    cross join chosen c
    left join workspaces w on w.id = c.id
      and (s.is_operator or (w.organization_id = s.organization_id and (s.sees_all or w.id = any (s.workspace_ids))))
    left join organizations o on o.id = w.organization_id
    left join lateral (
      select a.id, a.slug, a.is_active, a.active_revision_id from agents a
       where (a.id = ?::uuid or a.slug = ?::text) and a.deleted_at is null
         and ((a.scope = 'platform' and (a.is_active or s.is_operator))
           or (a.organization_id = w.organization_id and (a.workspace_id is null or a.workspace_id = w.id)))
       order by array_position(array['workspace', 'organization', 'platform'], a.scope::text) limit 1
    ) a on w.id is not null
    left join agent_revisions v on v.id = coalesce(?::uuid, a.active_revision_id) and v.agent_id = a.id`;

/** Resolves workspace, agent and revision of a start in one statement. Throws 422 for what does not resolve in the starter's sight. */
export async function resolveStart(unit: Unit, start: StartRun): Promise<StartTarget> {
  const { tenant } = unit;
  const agentId = 'id' in start.agent ? start.agent.id : null;
  const agentSlug = 'slug' in start.agent ? start.agent.slug : null;
  const found = await row<TargetRow>(unit.em, targetSql, [
    tenant.organizationId,
    tenant.hasAllWorkspaces,
    tenant.workspaceIds,
    tenant.isOperator,
    start.workspaceId,
    agentId,
    start.defaultWorkspaceId,
    start.personaSlug,
    agentId,
    agentSlug,
    start.revisionId,
  ]);
  if (!found || found.chosen_id === null) throw workspaceRequired();
  if (found.workspace_id === null || found.organization_id === null)
    throw invalid('/workspace_id', 'reference', 'The workspace does not exist.', { kind: 'workspace' });
  await start.admit?.({ organizationId: found.organization_id, workspaceId: found.workspace_id });

  if (found.agent_id === null || found.agent_slug === null) {
    throw invalid(agentId === null ? '/agent_slug' : '/agent_id', 'reference', 'The agent does not exist in this workspace.', {
      kind: 'agent',
      slug: agentSlug,
    });
  }
  if (start.revisionId !== null && found.revision_id === null)
    throw invalid('/revision_id', 'reference', 'The agent has no such revision.', { kind: 'agent_revision' });
  if (start.personaSlug !== null && !found.has_persona)
    throw invalid('/persona_slug', 'reference', 'The agent has no such persona.', { kind: 'persona', slug: start.personaSlug });
  if (found.revision_id === null || found.limits === null || found.variables === null) throw agentInactive();
  return {
    organizationId: found.organization_id,
    workspaceId: found.workspace_id,
    agentId: found.agent_id,
    agentSlug: found.agent_slug,
    revisionId: found.revision_id,
    limits: found.limits,
    variables: found.variables,
    defaultPersonaSlug: found.default_persona_slug,
    frozenReason: found.frozen_reason,
    isAgentActive: found.is_agent_active === true,
    liveRuns: found.live_runs,
  };
}

/** 409: the agent is switched off or nothing of it is published. */
export function agentInactive() {
  return fail('state_conflict', { reason: 'agent_inactive', detail: 'The agent is not active or has no active revision.' });
}

function workspaceRequired() {
  return fail('validation_failed', {
    reason: 'workspace_required',
    detail: 'Name the workspace of the run.',
    errors: [{ in: 'body', pointer: '/workspace_id', name: null, rule: 'required', message: 'Name the workspace of the run.' }],
  });
}
