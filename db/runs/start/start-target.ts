import { sql, type AliasedExpression, type SqlBool } from 'kysely';
import type { RevisionVariable } from '../../agents/revisions/revision-document.ts';
import type { RevisionLimits } from '../../agents/revisions/revision-limits.ts';
import type { AttachmentRef } from '../../attachments/run-attachments.ts';
import { budgetStandingSql, type BudgetStanding } from '../../billing/budgets/budget-standing.ts';
import { clockTime } from '../../expressions.ts';
import { jsonText, recordset, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
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

/** What a start names. */
interface References {
  readonly workspace_id: string | null;
  readonly agent_id: string | null;
  readonly agent_slug: string | null;
  readonly default_workspace_id: string | null;
  readonly persona_slug: string | null;
  readonly revision_id: string | null;
}

type Asked = References & { readonly n: number };

/** Whose rows may be named. */
interface Asker {
  readonly organizationId: string | null;
  readonly seesAll: boolean;
  readonly workspaceIds: readonly string[];
  readonly isOperator: boolean;
}

const oneTarget = prepared((p: ParametersOf<References & Asker>) =>
  targetsOf(
    p,
    sql<Asked>`(select 0 as n, ${p.workspace_id}::uuid as workspace_id, ${p.agent_id}::uuid as agent_id, ${p.agent_slug}::text as agent_slug,
      ${p.default_workspace_id}::uuid as default_workspace_id, ${p.persona_slug}::text as persona_slug, ${p.revision_id}::uuid as revision_id)`.as(
      'q',
    ),
  ),
);

const manyTargets = prepared(({ asked, ...p }: ParametersOf<Asker & { readonly asked: JsonText<readonly Asked[]> }>) =>
  targetsOf(
    p,
    recordset(asked, 'q', {
      n: 'int',
      workspace_id: 'uuid',
      agent_id: 'uuid',
      agent_slug: 'text',
      default_workspace_id: 'uuid',
      persona_slug: 'text',
      revision_id: 'uuid',
    }),
  ),
);

/** What a start refers to, as found; null: not found. */
export type TargetRow = Awaited<ReturnType<typeof findTargets>>[number];

/** Finds what starts refer to. The agent of a run lies in the run's workspace or wider. */
function targetsOf({ organizationId, seesAll, workspaceIds, isOperator }: ParametersOf<Asker>, asked: AliasedExpression<Asked, 'q'>) {
  return query
    .with('asker', (of) =>
      of.selectNoFrom([
        sql<string | null>`${organizationId}::uuid`.as('organizationId'),
        sql<boolean>`${seesAll}::boolean`.as('seesAll'),
        sql<string[]>`${workspaceIds}::uuid[]`.as('workspaceIds'),
        sql<boolean>`${isOperator}::boolean`.as('isOperator'),
      ]),
    )
    .selectFrom('asker as s')
    .crossJoin(asked)
    .crossJoinLateral(chosenWorkspace.as('c'))
    .leftJoin('workspaces as w', (join) =>
      join
        .onRef('w.id', '=', 'c.id')
        .on(sql<SqlBool>`(s.is_operator or (w.organization_id = s.organization_id and (s.sees_all or w.id = any (s.workspace_ids))))`),
    )
    .leftJoin('organizations as o', 'o.id', 'w.organizationId')
    .leftJoinLateral(nearestAgent.as('a'), (join) => join.on('w.id', 'is not', null))
    .leftJoin('agent_revisions as v', (join) =>
      join.on('v.id', '=', sql<string>`coalesce(q.revision_id, a.active_revision_id)`).onRef('v.agentId', '=', 'a.id'),
    )
    .crossJoinLateral(namedPersona.as('p'))
    .select(['q.n', 'c.id as chosenId', 'w.id as workspaceId', 'w.organizationId', frozenReason.as('frozenReason')])
    .select(['a.id as agentId', 'a.slug as agentSlug', 'a.isActive as isAgentActive', 'v.id as revisionId'])
    .select(sql<Partial<RevisionLimits> | null>`v.document -> 'limits'`.as('limits'))
    .select(sql<RevisionVariable[] | null>`v.document -> 'variables'`.as('variables'))
    .select(['p.hasPersona', sql<string | null>`coalesce(p.model, v.document ->> 'model')`.as('model'), 'p.defaultPersonaSlug'])
    .select(sql.raw<BudgetStanding>(budgetStandingSql('w.id')).as('spending'));
}

const frozenReason = sql<
  string | null
>`case when o.status <> 'active' then 'organization_' || o.status when not w.is_active then 'workspace_archived' end`;

// `offset 0`: evaluated once, wherever it is used.
const chosenWorkspace = sql<{ id: string | null }>`(
  select coalesce(
    q.workspace_id,
    (select a.workspace_id from agents a where a.id = q.agent_id and a.deleted_at is null
      and (s.is_operator or (a.organization_id = s.organization_id and (s.sees_all or a.workspace_id = any (s.workspace_ids))))),
    q.default_workspace_id,
    (select case when count(*) = 1 then min(w.id::text)::uuid end from workspaces w
      where w.organization_id = s.organization_id and (s.sees_all or w.id = any (s.workspace_ids)) and w.is_active)
  ) as id
  offset 0)`;

// A slug selects the nearest agent: workspace, then organization, then platform.
const nearestAgent = sql<{ id: string; slug: string; isActive: boolean; activeRevisionId: string | null }>`(
  select a.id, a.slug, a.is_active, a.active_revision_id from agents a
   where (a.id = q.agent_id or a.slug = q.agent_slug) and a.deleted_at is null
     and ((a.scope = 'platform' and (a.is_active or s.is_operator))
       or (a.organization_id = w.organization_id and (a.workspace_id is null or a.workspace_id = w.id)))
   order by array_position(array['workspace', 'organization', 'platform'], a.scope::text) limit 1)`;

const namedPersona = sql<{ hasPersona: boolean; defaultPersonaSlug: string | null; model: string | null }>`(
  select coalesce(bool_or(p.slug = q.persona_slug), false) as has_persona, min(p.slug) filter (where p.is_default) as default_persona_slug,
         min(p.document ->> 'model') filter (where case when q.persona_slug is null then p.is_default else p.slug = q.persona_slug end) as model
    from personas p
   where p.agent_id = a.id and (p.is_default or p.slug = q.persona_slug) and p.is_active and p.deleted_at is null)`;

/** A target with the workspace's live runs, which also decide about the start. */
export type FoundTarget = TargetRow & Pick<StartTarget, 'liveRuns'>;

/** Returns what starts refer to, by their indexes: in one statement, plus one where live runs have to be counted. */
export async function readTargets(tx: TenantTransaction, starts: readonly StartRun[]): Promise<Map<number, FoundTarget>> {
  const found = await findTargets(tx, starts.map(referencesOf));
  const liveRuns = await countLiveRuns(tx, [...new Set(found.flatMap((target) => target.workspaceId ?? []))]);
  return new Map(found.map((target) => [target.n, { ...target, liveRuns: liveRuns.get(target.workspaceId ?? '') ?? 0 }]));
}

function findTargets(tx: TenantTransaction, references: readonly References[]) {
  const { organizationId, hasAllWorkspaces: seesAll, workspaceIds, isOperator } = tx.tenant;
  const asker = { organizationId, seesAll, workspaceIds, isOperator };
  const [only] = references;
  if (only && references.length === 1) return rows(tx.em, oneTarget({ ...only, ...asker }));
  return rows(tx.em, manyTargets({ ...asker, asked: jsonText(references.map((one, n) => ({ n, ...one }))) }));
}

function referencesOf(start: StartRun): References {
  return {
    workspace_id: start.workspaceId,
    agent_id: 'id' in start.agent ? start.agent.id : null,
    agent_slug: 'slug' in start.agent ? start.agent.slug : null,
    default_workspace_id: start.defaultWorkspaceId,
    persona_slug: start.personaSlug,
    revision_id: start.revisionId,
  };
}

const pricedModels = prepared(({ models, currency }: ParametersOf<{ readonly models: readonly string[]; readonly currency: string }>) =>
  query
    .selectFrom('model_prices')
    .select('model')
    .distinct()
    .where('model', '=', sql<string>`any (${models}::text[])`)
    .where('tier', '=', sql.lit(standardTier))
    .where('currency', '=', currency)
    .where('effectiveFrom', '<=', clockTime),
);

/** Returns those of these models that now have a price in a currency. */
export async function readPricedModels(tx: TenantTransaction, models: readonly string[], currency: string): Promise<ReadonlySet<string>> {
  const priced = await rows(tx.em, pricedModels({ models, currency }));
  return new Set(priced.map(({ model }) => model));
}
