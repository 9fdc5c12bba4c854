import { Decimal } from 'decimal.js';
import type { AlertGrouping, AlertOperator, AlertRule, NoDataMode, SamplerKind } from '../../db/alerts/alert-rule.entity.ts';
import { AlertRule as AlertRuleEntity } from '../../db/alerts/alert-rule.entity.ts';
import type { AlertTarget } from '../../db/alerts/alert-target.ts';
import { resetRule } from '../../db/alerts/rule-reset.ts';
import { countRules } from '../../db/alerts/rules.ts';
import { newId } from '../../db/ids.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';

/** The most rules of an organization, not counting those of its budgets. */
export const maxRules = 200;

/** The fields of a rule that a caller sets. Decimals without an exponent. */
export interface RuleFields {
  readonly name: string;
  readonly agentId: string | null;
  readonly groupBy: AlertGrouping;
  readonly operator: AlertOperator;
  readonly threshold: string;
  readonly warningThreshold: string | null;
  readonly windowS: number;
  readonly forS: number;
  readonly keepFiringS: number;
  readonly repeatIntervalS: number;
  readonly noDataMode: NoDataMode;
  readonly targets: AlertTarget[];
  readonly isActive: boolean;
}

export interface NewRule extends RuleFields {
  readonly kind: SamplerKind;
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

/** Kinds whose samples belong to no agent. */
const withoutAgent: readonly string[] = ['delivery_failures'] satisfies SamplerKind[];

/** Fields whose change makes the rule a different one, so that the states of its groups no longer apply. */
const judged = ['agentId', 'groupBy', 'operator', 'threshold', 'warningThreshold', 'windowS'] as const;

/** Creates a rule. Throws 409 `limit_reached` in an organization that has 200. */
export async function makeRule(tx: TenantTransaction, made: NewRule): Promise<string> {
  refuseContradiction(made);
  if ((await countRules(tx, made.organizationId)) >= maxRules)
    throw fail('state_conflict', { reason: 'limit_reached', detail: `An organization can have at most ${maxRules} alert rules.` });
  const id = newId();
  tx.em.create(AlertRuleEntity, { id, ...made, budgetId: null, lastEvaluatedAt: null, deletedAt: null });
  await tx.em.flush();
  return id;
}

/**
 * Changes a locked rule. A rule that is paused, or that now measures or compares differently, starts again: its open alerts end as `rule_changed`, and nothing
 * is sent. Throws 409 `managed_rule` for fields of a managed rule that its budget determines.
 */
export async function changeRule(tx: TenantTransaction, rule: AlertRule, change: Partial<RuleFields>, at: Date): Promise<void> {
  if (rule.budgetId !== null) refuseManaged(change);
  else refuseContradiction({ ...rule, ...change });

  const isOther = judged.some((field) => change[field] !== undefined && !isSame(change[field], rule[field]));
  const isPaused = change.isActive === false && rule.isActive;
  Object.assign(rule, change);
  await tx.em.flush();
  if (isOther || isPaused) await resetRule(tx, rule, at);
}

/** Deletes a locked rule: its open alerts end, and nothing is sent. Throws 409 `managed_rule` for the rule of a budget. */
export async function deleteRule(tx: TenantTransaction, rule: AlertRule, at: Date): Promise<void> {
  if (rule.budgetId !== null) throw managedRule('The rule of a budget can only be deleted with its budget.');
  rule.deletedAt = at;
  await tx.em.flush();
  await resetRule(tx, rule, at);
}

function refuseManaged(change: Partial<RuleFields>): void {
  const own: readonly string[] = ['targets', 'repeatIntervalS', 'isActive'] satisfies (keyof RuleFields)[];
  const foreign = Object.keys(change).filter((field) => !own.includes(field));
  if (foreign.length > 0) throw managedRule('Only targets, repeat_interval_s and is_active of a budget’s rule can be changed.');
}

function managedRule(detail: string): Error {
  return fail('state_conflict', { reason: 'managed_rule', detail });
}

function refuseContradiction({
  kind,
  agentId,
  groupBy,
  operator,
  threshold,
  warningThreshold,
}: Pick<AlertRule, 'kind' | 'agentId' | 'groupBy' | 'operator' | 'threshold' | 'warningThreshold'>): void {
  if (warningThreshold !== null && !isFineSide(operator, { threshold, warningThreshold }))
    throw invalid('/warning_threshold', 'range', 'must be on the healthy side of threshold');
  if (!withoutAgent.includes(kind)) return;
  if (agentId !== null) throw invalid('/agent_id', 'const', 'must be null for this kind: a delivery belongs to no agent');
  if (groupBy === 'agent') throw invalid('/group_by', 'enum', 'cannot be agent for this kind: a delivery belongs to no agent');
}

function isFineSide(operator: AlertOperator, { threshold, warningThreshold }: { threshold: string; warningThreshold: string }): boolean {
  const warning = new Decimal(warningThreshold);
  return operator === 'gt' || operator === 'gte' ? warning.lt(threshold) : warning.gt(threshold);
}

function isSame(next: string | number | null, before: string | number | null): boolean {
  if (typeof next === 'string' && typeof before === 'string' && /^[\d.]+$/.test(next) && /^[\d.]+$/.test(before))
    return new Decimal(next).eq(before);
  return next === before;
}
