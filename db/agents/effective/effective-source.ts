import { type Expression, sql, type SqlBool } from 'kysely';
import { standardTier } from '../../billing/prices/prices.ts';
import type { Condition } from '../../condition.ts';
import { clockTime } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { organizationOf } from '../../caller-scope.ts';
import { visibleToSql, seen, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import { Agent } from '../agent.entity.ts';
import type { PersonaDocument } from '../personas/persona-document.ts';
import type { RevisionDocument } from '../revisions/revision-document.ts';
import { upgradeDocument } from '../revisions/upgrade-document.ts';

/** Every layer of an agent above what its revision binds. */
export interface AgentSource {
  readonly agent: { readonly id: string; readonly slug: string; readonly name: string; readonly description: string | null };
  readonly place: { readonly organizationId: string | null; readonly workspaceId: string | null };
  readonly workspace: { readonly id: string; readonly slug: string; readonly name: string; readonly timezone: string } | null;
  /** The requested revision, else the active one, else the newest; null when there is none, or when the requested one does not exist. */
  readonly revision: { readonly id: string; readonly number: number; readonly document: RevisionDocument } | null;
  readonly persona: PersonaDocument | null;
  readonly pricing: AgentPricing;
}

/** Budgets and prices that apply where the agent works. */
export interface AgentPricing {
  /** The limits of the enforced budgets of the workspace; empty: it has none. */
  readonly ceilings: readonly SpendingCeiling[];
  /** Registry ids of the models with a price in force. */
  readonly pricedModels: readonly string[];
}

/**
 * What an enforced budget allows in a period: `limit` in the budget's currency; `rate` converts an amount of the billing currency into it. Both are decimal
 * strings.
 */
export interface SpendingCeiling {
  readonly period: string;
  readonly limit: string;
  /** Null: no rate is known for the currency. */
  readonly rate: string | null;
}

export interface SourceAsk {
  readonly agentId: string;
  readonly revisionId: string | null;
  /** Null: the agent's default persona. */
  readonly personaSlug: string | null;
  /** Currency of the prices that apply. */
  readonly currency: string;
}

type Arguments = SourceAsk & { readonly ownWorkspace: string | null; readonly visible: Condition };

const sourceOf = prepared(({ agentId, revisionId, personaSlug, currency, ownWorkspace, visible }: ParametersOf<Arguments>) => {
  const workspaceId = sql<string | null>`coalesce(a.workspace_id, ${ownWorkspace}::uuid)`;
  return query
    .selectFrom('agents as a')
    .where('a.id', '=', agentId)
    .where('a.deletedAt', 'is', null)
    .where(visible)
    .select(['a.id', 'a.slug', 'a.name', 'a.description', 'a.organizationId', workspaceId.as('workspaceId')])
    .select(
      sql<AgentSource['workspace']>`(
        select jsonb_build_object('id', w.id, 'slug', w.slug, 'name', w.name, 'timezone', w.timezone) from workspaces w where w.id = ${workspaceId})`.as(
        'workspace',
      ),
    )
    .select(
      sql<AgentSource['revision']>`(
        select jsonb_build_object('id', v.id, 'number', v.number, 'document', v.document) from agent_revisions v
         where v.agent_id = a.id and (${revisionId}::uuid is null or v.id = ${revisionId}::uuid)
         order by v.id is not distinct from a.active_revision_id desc, v.number desc limit 1)`.as('revision'),
    )
    .select(({ selectFrom }) =>
      selectFrom('personas as p')
        .select('p.document')
        .whereRef('p.agentId', '=', 'a.id')
        .where('p.isActive', '=', sql.lit(true))
        .where('p.deletedAt', 'is', null)
        .where(sql<SqlBool>`case when ${personaSlug}::text is null then p.is_default else p.slug = ${personaSlug}::text end`)
        .as('persona'),
    )
    .select(
      sql<SpendingCeiling[]>`(
        select coalesce(jsonb_agg(jsonb_build_object('period', g.period, 'limit', g.limit_amount::text,
                 'rate', coalesce(b.fx_rate, case when g.currency = ${currency} then 1 end)::text) order by g.period), '[]')
          from budgets g left join budget_windows b on b.budget_id = g.id and b.closed_at is null
         where g.workspace_id = ${workspaceId} and g.is_enforced and g.limit_amount is not null)`.as('ceilings'),
    )
    .select(sql<string[]>`array${pricedModels(currency)}`.as('pricedModels'));
});

/** The models with a price in force in a currency. */
function pricedModels(currency: Expression<string>) {
  return query
    .selectFrom('model_prices as m')
    .select('m.model')
    .distinct()
    .where('m.tier', '=', sql.lit(standardTier))
    .where('m.currency', '=', currency)
    .where('m.effectiveFrom', '<=', clockTime);
}

/**
 * Reads an agent that the caller sees with the layers above its bindings, in one statement. An agent without a workspace is shown as it works in the
 * caller's own. Throws 404 for the agent, 403 where the caller's rank is below the floor.
 */
export async function readAgentSource(ctx: Scoped, { agentId, revisionId, personaSlug, currency }: SourceAsk): Promise<AgentSource> {
  const visible = visibleToSql(ctx, Agent, 'a');
  const ownWorkspace = ctx.caller.view?.workspaceId ?? ctx.caller.workspaceId;
  const found = seen(ctx, await row(ctx.em, sourceOf({ agentId, revisionId, personaSlug, currency, ownWorkspace, visible })));
  return {
    agent: { id: found.id, slug: found.slug, name: found.name, description: found.description },
    place: { organizationId: found.organizationId ?? organizationOf(ctx.caller), workspaceId: found.workspace?.id ?? found.workspaceId },
    workspace: found.workspace,
    revision: found.revision && { ...found.revision, document: upgradeDocument(found.revision.document) },
    persona: found.persona,
    pricing: { ceilings: found.ceilings, pricedModels: found.pricedModels },
  };
}
