import type { RevisionVariable } from '../../agents/revisions/revision-document.ts';
import type { RevisionLimits } from '../../agents/revisions/revision-limits.ts';
import type { AttachmentRef } from '../../attachments/run-attachments.ts';
import { budgetStandingSql, type BudgetStanding } from '../../billing/budgets/budget-standing.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { countLiveRuns } from './live-runs.ts';
import type { StartRun } from './start-run.ts';
import { standardTier } from '../../billing/prices/prices.ts';

/** Where a run goes and what it runs: everything is resolved and visible to the starter. */
export interface StartTarget {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly agentSlug: string;
  readonly revisionId: string;
  /** As stored: an older release may have omitted some. */
  readonly limits: Partial<RevisionLimits>;
  readonly variables: readonly RevisionVariable[];
  /** The persona of runs that name none. */
  readonly defaultPersonaSlug: string | null;
  /** Why the workspace takes no runs; null while it takes them. */
  readonly inactiveReason: string | null;
  readonly isAgentActive: boolean;
  /** Live runs of the workspace, as far as `countLiveRuns` knows. */
  readonly liveRuns: number;
  /** The model that the persona or the revision names; null: the deployment's default. */
  readonly model: string | null;
  /** The standing of the workspace's enforced budgets. */
  readonly spending: BudgetStanding;
  /** The files that the input names. */
  readonly attachments: readonly AttachmentRef[];
}

/** What one start refers to, as found; null: not found. */
export interface TargetRow {
  readonly n: number;
  readonly chosen_id: string | null;
  readonly workspace_id: string | null;
  readonly organization_id: string | null;
  readonly frozen_reason: string | null;
  readonly agent_id: string | null;
  readonly agent_slug: string | null;
  readonly is_agent_active: boolean | null;
  readonly revision_id: string | null;
  readonly limits: Partial<RevisionLimits> | null;
  readonly variables: RevisionVariable[] | null;
  readonly has_persona: boolean;
  readonly model: string | null;
  readonly default_persona_slug: string | null;
  readonly spending: BudgetStanding;
}

const oneAsked = `(select 0 as n, ?::uuid as workspace_id, ?::uuid as agent_id, ?::text as agent_slug, ?::uuid as default_workspace_id, ?::text as persona_slug,
  ?::uuid as revision_id)`;

const manyAsked = `jsonb_to_recordset(?::jsonb)`;

const askedColumns =
  '(n int, workspace_id uuid, agent_id uuid, agent_slug text, default_workspace_id uuid, persona_slug text, revision_id uuid)';

// A slug selects the nearest agent: workspace, then organization, then platform. The agent of a run lies in the run's workspace or wider.
const targetSql = (asked: string) => `
  with asker as (select ?::uuid as organization_id, ?::boolean as sees_all, ?::uuid[] as workspace_ids, ?::boolean as is_operator)
  select q.n, c.id as chosen_id, w.id as workspace_id, w.organization_id,
         case when o.status <> 'active' then 'organization_' || o.status when not w.is_active then 'workspace_archived' end as frozen_reason,
         a.id as agent_id, a.slug as agent_slug, a.is_active as is_agent_active,
         v.id as revision_id, v.document -> 'limits' as limits, v.document -> 'variables' as variables,
         p.has_persona, coalesce(p.model, v.document ->> 'model') as model, p.default_persona_slug,
         ${budgetStandingSql('w.id')} as spending
    from asker s
    cross join ${asked}
    cross join lateral (
      select coalesce(
        q.workspace_id,
        (select a.workspace_id from agents a where a.id = q.agent_id and a.deleted_at is null
          and (s.is_operator or (a.organization_id = s.organization_id and (s.sees_all or a.workspace_id = any (s.workspace_ids))))),
        q.default_workspace_id,
        (select case when count(*) = 1 then min(w.id::text)::uuid end from workspaces w
          where w.organization_id = s.organization_id and (s.sees_all or w.id = any (s.workspace_ids)) and w.is_active)
      ) as id
      offset 0 -- evaluated once, wherever it is used
    ) c
    left join workspaces w on w.id = c.id
      and (s.is_operator or (w.organization_id = s.organization_id and (s.sees_all or w.id = any (s.workspace_ids))))
    left join organizations o on o.id = w.organization_id
    left join lateral (
      select a.id, a.slug, a.is_active, a.active_revision_id from agents a
       where (a.id = q.agent_id or a.slug = q.agent_slug) and a.deleted_at is null
         and ((a.scope = 'platform' and (a.is_active or s.is_operator))
           or (a.organization_id = w.organization_id and (a.workspace_id is null or a.workspace_id = w.id)))
       order by array_position(array['workspace', 'organization', 'platform'], a.scope::text) limit 1
    ) a on w.id is not null
    left join agent_revisions v on v.id = coalesce(q.revision_id, a.active_revision_id) and v.agent_id = a.id
    cross join lateral (
      select coalesce(bool_or(p.slug = q.persona_slug), false) as has_persona, min(p.slug) filter (where p.is_default) as default_persona_slug,
             min(p.document ->> 'model') filter (where case when q.persona_slug is null then p.is_default else p.slug = q.persona_slug end) as model
        from personas p
       where p.agent_id = a.id and (p.is_default or p.slug = q.persona_slug) and p.is_active and p.deleted_at is null
    ) p`;

const oneTarget = targetSql(`${oneAsked} q`);

const manyTargets = targetSql(`${manyAsked} as q ${askedColumns}`);

/** A target with the workspace's live runs, which also decide about the start. */
export type FoundTarget = TargetRow & Pick<StartTarget, 'liveRuns'>;

/** Returns what starts refer to, by their indexes: in one statement, plus one where live runs have to be counted. */
export async function readTargets(tx: TenantTransaction, starts: readonly StartRun[]): Promise<Map<number, FoundTarget>> {
  const { organizationId, hasAllWorkspaces, workspaceIds, isOperator } = tx.tenant;
  const [sql, asked] = targetQuery(starts.map(referencesOf));
  const found = await rows<TargetRow>(tx.em, sql, [organizationId, hasAllWorkspaces, workspaceIds, isOperator, ...asked]);
  const liveRuns = await countLiveRuns(tx, [...new Set(found.flatMap((target) => target.workspace_id ?? []))]);
  return new Map(found.map((target) => [target.n, { ...target, liveRuns: liveRuns.get(target.workspace_id ?? '') ?? 0 }]));
}

/** Its keys are in the order in which `oneAsked` binds them. */
function referencesOf(start: StartRun) {
  return {
    workspace_id: start.workspaceId,
    agent_id: 'id' in start.agent ? start.agent.id : null,
    agent_slug: 'slug' in start.agent ? start.agent.slug : null,
    default_workspace_id: start.defaultWorkspaceId,
    persona_slug: start.personaSlug,
    revision_id: start.revisionId,
  };
}

function targetQuery(references: readonly ReturnType<typeof referencesOf>[]): [sql: string, asked: unknown[]] {
  const [only] = references;
  if (only && references.length === 1) return [oneTarget, Object.values(only)];
  return [manyTargets, [JSON.stringify(references.map((one, n) => ({ n, ...one })))]];
}

/** Returns those of these models that now have a price in a currency. */
export async function readPricedModels(tx: TenantTransaction, models: readonly string[], currency: string): Promise<ReadonlySet<string>> {
  const priced = await rows<{ model: string }>(
    tx.em,
    `select distinct model from model_prices where model = any (?) and tier = ? and currency = ? and effective_from <= clock_timestamp()`,
    [models, standardTier, currency],
  );
  return new Set(priced.map(({ model }) => model));
}
