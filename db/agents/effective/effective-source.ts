import { standardTier } from '../../billing/prices/prices.ts';
import { organizationOf } from '../../reach.ts';
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

interface SourceRow {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly workspace: AgentSource['workspace'];
  readonly revision: AgentSource['revision'];
  readonly persona: PersonaDocument | null;
  readonly ceilings: SpendingCeiling[];
  readonly priced_models: string[];
}

export interface SourceAsk {
  readonly agentId: string;
  readonly revisionId: string | null;
  /** Null: the agent's default persona. */
  readonly personaSlug: string | null;
  /** Currency of the prices that apply. */
  readonly currency: string;
}

/**
 * Reads an agent that the caller sees with the layers above its bindings, in one statement. An agent without a workspace is shown as it works in the
 * caller's own. Throws 404 for the agent, 403 where the caller's rank is below the floor.
 */
export async function readAgentSource(ctx: Scoped, ask: SourceAsk): Promise<AgentSource> {
  const visible = visibleToSql(ctx, Agent, 'a');
  const ownWorkspace = ctx.caller.view?.workspaceId ?? ctx.caller.workspaceId;
  const source = await row<SourceRow>(
    ctx.em,
    `select a.id, a.slug, a.name, a.description, a.organization_id, coalesce(a.workspace_id, ?::uuid) as workspace_id,
            (select jsonb_build_object('id', w.id, 'slug', w.slug, 'name', w.name, 'timezone', w.timezone) from workspaces w
              where w.id = coalesce(a.workspace_id, ?::uuid)) as workspace,
            (select jsonb_build_object('id', v.id, 'number', v.number, 'document', v.document) from agent_revisions v
              where v.agent_id = a.id and (?::uuid is null or v.id = ?::uuid) order by v.id is not distinct from a.active_revision_id desc, v.number desc limit 1) as revision,
            (select p.document from personas p
              where p.agent_id = a.id and p.is_active and p.deleted_at is null and case when ?::text is null then p.is_default else p.slug = ?::text end) as persona,
            (select coalesce(jsonb_agg(jsonb_build_object('period', g.period, 'limit', g.limit_amount::text,
                      'rate', coalesce(b.fx_rate, case when g.currency = ? then 1 end)::text) order by g.period), '[]')
               from budgets g left join budget_windows b on b.budget_id = g.id and b.closed_at is null
              where g.workspace_id = coalesce(a.workspace_id, ?::uuid) and g.is_enforced and g.limit_amount is not null) as ceilings,
            array(select distinct m.model from model_prices m
              where m.tier = '${standardTier}' and m.currency = ? and m.effective_from <= clock_timestamp()) as priced_models
       from agents a where a.id = ? and a.deleted_at is null and ${visible.sql}`,
    [
      ownWorkspace,
      ownWorkspace,
      ask.revisionId,
      ask.revisionId,
      ask.personaSlug,
      ask.personaSlug,
      ask.currency,
      ownWorkspace,
      ask.currency,
      ask.agentId,
      ...visible.params,
    ],
  );
  const found = seen(ctx, source);
  return {
    agent: { id: found.id, slug: found.slug, name: found.name, description: found.description },
    place: { organizationId: found.organization_id ?? organizationOf(ctx.caller), workspaceId: found.workspace?.id ?? found.workspace_id },
    workspace: found.workspace,
    revision: found.revision && { ...found.revision, document: upgradeDocument(found.revision.document) },
    persona: found.persona,
    pricing: { ceilings: found.ceilings, pricedModels: found.priced_models },
  };
}
