import { sql } from 'kysely';
import type { Condition } from '../condition.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { contains, preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { AlertRule, type RuleKind } from './alert-rule.entity.ts';
import type { RuleState } from './alert-state.entity.ts';

/** A rule as it is read, with the worst state of its groups. */
export type AlertRuleRow = NonNullable<Awaited<ReturnType<typeof readRuleRow>>>;

export interface RuleFilters {
  readonly q?: string;
  readonly kind?: RuleKind;
  readonly workspaceId?: string;
  /** Each is true or undefined: a prepared query only sees which are present. */
  readonly active?: true;
  readonly paused?: true;
  readonly managed?: true;
  readonly unmanaged?: true;
}

/** A managed rule has no states: it fires while its alert is open. */
const worstState = sql<RuleState>`coalesce(
  (select s.state from alert_states s where s.rule_id = r.id order by array_position(array['firing', 'no_data', 'pending', 'ok'], s.state) limit 1),
  (select 'firing' from alerts a where a.rule_id = r.id and a.resolved_at is null and r.budget_id is not null limit 1),
  case when r.budget_id is null then 'unknown' else 'ok' end)`;

function selectRules(visible: Condition) {
  return query
    .selectFrom('alert_rules as r')
    .where('r.deletedAt', 'is', null)
    .where(visible)
    .select(['r.id', 'r.organizationId', 'r.workspaceId', 'r.budgetId', 'r.agentId', 'r.name', 'r.kind', 'r.groupBy', 'r.operator'])
    .select(['r.threshold', 'r.warningThreshold', 'r.windowS', 'r.forS', 'r.keepFiringS', 'r.repeatIntervalS', 'r.noDataMode'])
    .select(['r.targets', 'r.isActive', 'r.lastEvaluatedAt', 'r.version', 'r.createdAt', 'r.updatedAt', worstState.as('state')]);
}

const oneRule = prepared(({ ruleId, visible }: ParametersOf<{ readonly ruleId: string; readonly visible: Condition }>) =>
  selectRules(visible).where('r.id', '=', ruleId),
);

function readRuleRow(ctx: Scoped, ruleId: string) {
  return row(ctx.em, oneRule({ ruleId, visible: visibleToSql(ctx, AlertRule, 'r') }));
}

/** Returns one rule that the caller sees. Throws 404. */
export async function readRule(ctx: Scoped, ruleId: string): Promise<AlertRuleRow> {
  const found = await readRuleRow(ctx, ruleId);
  if (!found) throw fail('not_found');
  return found;
}

const ruleList = preparedList(
  ({ q, kind, workspaceId, active, paused, managed, unmanaged, visible }: ParametersOf<RuleFilters & { readonly visible: Condition }>) => {
    let rules = selectRules(visible);
    if (q) rules = rules.where(({ ref }) => contains(q, ref('r.name')));
    if (kind) rules = rules.where('r.kind', '=', kind);
    if (workspaceId) rules = rules.where('r.workspaceId', '=', workspaceId);
    if (active) rules = rules.where('r.isActive', '=', sql.lit(true));
    if (paused) rules = rules.where('r.isActive', '=', sql.lit(false));
    if (managed) rules = rules.where('r.budgetId', 'is not', null);
    if (unmanaged) rules = rules.where('r.budgetId', 'is', null);
    return rules;
  },
  [{ column: 'r.id', type: 'uuid', descending: true }],
);

/** Returns the rules that the caller sees, newest first. */
export function listRuleRows(ctx: Scoped, filters: RuleFilters, page: PageRequest) {
  return ruleList(ctx.em, { ...filters, visible: visibleTo(ctx, AlertRule, 'r') }, page);
}

/** Returns how many rules an organization has, without managed ones. Requests count one after another, so that two at once can't both be the last. */
export async function countRules(tx: Pick<TenantTransaction, 'em'>, organizationId: string): Promise<number> {
  await row(tx.em, query.selectFrom('organizations').where('id', '=', organizationId).select('id').forNoKeyUpdate());
  const counted = await row(
    tx.em,
    query
      .selectFrom('alert_rules')
      .where('organizationId', '=', organizationId)
      .where('deletedAt', 'is', null)
      .where('budgetId', 'is', null)
      .select(sql<number>`count(*)::int`.as('total')),
  );
  return counted?.total ?? 0;
}
