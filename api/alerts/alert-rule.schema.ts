import Type, { type Static } from 'typebox';
import { alertGroupings, alertOperators, noDataModes, ruleKinds, samplerKinds } from '../../db/alerts/alert-rule.entity.ts';
import { ruleStates } from '../../db/alerts/alert-state.entity.ts';
import type { AlertTarget } from '../../db/alerts/alert-target.ts';
import type { AlertRuleRow } from '../../db/alerts/rules.ts';
import { money } from '../../db/money.ts';
import { iso } from '../../db/sql.ts';
import type { RuleFields } from '../../domain/alerts/rules.ts';
import { requireDecimal } from '../../domain/billing/decimal-input.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import { fieldsSet } from '../http/operation/changes.ts';
import { closed, Decimal, idOf, integer, listOf, Name, nullable, oneOf, Q, stating, text, Timestamp, Url } from '../http/input/schema.ts';

export const AlertRuleParams = closed({ rule_id: idOf('AlertRule') });

const SecretName = text(100, {
  minLength: 1,
  pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,99}$',
  description: 'Name of a secret in the scope of the rule',
});
/** Discriminated by `kind`, so that violations concern the intended form. */
const Target = Type.Unsafe<AlertTarget>({
  type: 'object',
  description: 'Whom a rule notifies',
  examples: [{ kind: 'admins' }],
  discriminator: { propertyName: 'kind' },
  oneOf: [
    closed(
      { kind: oneOf(['admins']) },
      { $id: 'AdminsTarget', description: 'All active admins and owners who can see the workspace, by mail' },
    ),
    closed({ kind: oneOf(['user']), user_id: idOf('User') }, { $id: 'UserTarget', description: 'One person, by mail' }),
    closed(
      { kind: oneOf(['webhook']), url: { ...Url, description: 'The query is omitted in replies' }, secret_name: SecretName },
      { $id: 'WebhookTarget', description: 'A POST request, signed with the secret' },
    ),
    closed(
      { kind: oneOf(['slack']), secret_name: SecretName },
      { $id: 'SlackTarget', description: 'An incoming webhook of Slack, whose URL is the value of the secret' },
    ),
  ],
});
const Targets = listOf(Target, { minItems: 1, maxItems: 10, description: 'Who is notified' });

/** What `readDecimal` takes, of numbers without the bound on their digits. */
const threshold = { minimum: 0, exclusiveMaximum: 1e11, pattern: '^(?:0|[1-9][0-9]{0,10})(?:\\.[0-9]{1,9})?$' };
/** A number or a text, see `readDecimal`. */
const Threshold = (description: string) =>
  stating(
    Type.Unsafe<number | string>({
      type: ['number', 'string'],
      maxLength: 40,
      description: `${description}: at most 9 decimals, below 10^11`,
    }),
    threshold,
  );
const OptionalThreshold = (description: string) =>
  stating(
    Type.Unsafe<number | string | null>({
      type: ['number', 'string', 'null'],
      maxLength: 40,
      description: `${description}: at most 9 decimals, below 10^11; null without`,
    }),
    threshold,
  );

const Grouping = (more: { readonly default?: 'none' } = {}) =>
  oneOf(alertGroupings, {
    ...more,
    description: 'One alert for everything, or one for each workspace or agent; beyond 200 groups, the rest form a single group',
  });
const Operator = oneOf(alertOperators, { description: 'How a value must compare with the threshold to be a breach' });
const WindowS = integer({ minimum: 60, maximum: 2_592_000, description: 'The time window over which the value is measured, in seconds' });
const ForS = integer({ maximum: 86_400, description: 'How long a breach must last before an alert opens, in seconds' });
const KeepFiringS = integer({ maximum: 86_400, description: 'How long the value must be healthy before the alert ends, in seconds' });
const RepeatIntervalS = integer({
  minimum: 300,
  maximum: 604_800,
  description: 'Interval after which an open alert is notified again, in seconds',
});
const NoData = (more: { readonly default?: 'ok' } = {}) =>
  oneOf(noDataModes, { ...more, description: 'How a missing value is treated: as healthy, as unchanged, or as an alert in its own right' });
const AgentId = nullable(idOf('Agent', 'Measures only this agent'));

export const AlertRuleView = closed(
  {
    id: idOf('AlertRule'),
    name: Name,
    kind: oneOf(ruleKinds, { description: 'What is measured; budget is reserved for the rule of a budget' }),
    scope: oneOf(scopes),
    organization_id: idOf('Organization'),
    workspace_id: nullable(idOf('Workspace')),
    agent_id: AgentId,
    group_by: Grouping(),
    operator: Operator,
    threshold: { ...Decimal, description: 'The threshold from which the alert is critical' },
    warning_threshold: nullable({ ...Decimal, description: 'The threshold from which the alert is a warning' }),
    window_s: WindowS,
    for_s: ForS,
    keep_firing_s: KeepFiringS,
    repeat_interval_s: RepeatIntervalS,
    no_data_mode: NoData(),
    targets: listOf(Target, { maxItems: 10, description: 'Who is notified' }),
    is_active: Type.Boolean({ description: 'false: the rule is paused and measures nothing' }),
    managed: Type.Boolean({ description: 'Whether it belongs to a budget, which determines when it fires' }),
    budget_id: nullable(idOf('Other', 'The budget of a managed rule')),
    state: oneOf(ruleStates, { description: 'The worst state of its groups' }),
    last_evaluated_at: nullable({ ...Timestamp, description: 'When it was last measured' }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'AlertRuleView', description: 'What is watched, when it becomes an alert, and who is notified' },
);

const changeable = {
  agent_id: Type.Optional(AgentId),
  group_by: Type.Optional(Grouping({ default: 'none' })),
  warning_threshold: Type.Optional(
    OptionalThreshold('The threshold from which the alert is a warning; must be on the healthy side of threshold'),
  ),
  window_s: Type.Optional({ ...WindowS, default: 300 }),
  for_s: Type.Optional({ ...ForS, default: 0 }),
  keep_firing_s: Type.Optional({ ...KeepFiringS, default: 0 }),
  repeat_interval_s: Type.Optional({ ...RepeatIntervalS, default: 14_400 }),
  no_data_mode: Type.Optional(NoData({ default: 'ok' })),
  is_active: Type.Optional(Type.Boolean({ default: true, description: 'A paused rule measures nothing, and its open alerts end' })),
};

export const AlertRuleCreate = closed(
  {
    name: Name,
    kind: oneOf(samplerKinds, { description: 'What is measured over window_s' }),
    scope: Type.Optional(nullable(oneOf(scopes))),
    workspace_id: Type.Optional(nullable(idOf('Workspace'))),
    operator: Operator,
    threshold: Threshold('The threshold from which the alert is critical'),
    targets: Type.Optional(Targets),
    ...changeable,
  },
  { $id: 'AlertRuleCreate', description: 'A new rule; without targets it notifies the admins' },
);

export const AlertRuleUpdate = closed(
  {
    name: Type.Optional(Name),
    operator: Type.Optional(Operator),
    threshold: Type.Optional(Threshold('The threshold from which the alert is critical')),
    targets: Type.Optional(Targets),
    agent_id: changeable.agent_id,
    group_by: Type.Optional(Grouping()),
    warning_threshold: changeable.warning_threshold,
    window_s: Type.Optional(WindowS),
    for_s: Type.Optional(ForS),
    keep_firing_s: Type.Optional(KeepFiringS),
    repeat_interval_s: Type.Optional(RepeatIntervalS),
    no_data_mode: Type.Optional(NoData()),
    is_active: Type.Optional(Type.Boolean({ description: 'A paused rule measures nothing, and its open alerts end' })),
  },
  { $id: 'AlertRuleUpdate', description: 'The fields that are sent are changed, the rest is kept' },
);

export const AlertRuleFilters = closed({
  q: Type.Optional(Q),
  kind: Type.Optional(oneOf(ruleKinds, { description: 'Only rules that measure this' })),
  is_active: Type.Optional(Type.Boolean()),
  workspace_id: Type.Optional(idOf('Workspace')),
  managed: Type.Optional(Type.Boolean({ description: 'true lists the rules of budgets, false all others' })),
});

type Update = Static<typeof AlertRuleUpdate>;

/** Returns the fields that a body sets, in the form of a rule. 422 for a threshold that is not an amount. */
export function toRuleFields(body: Update): Partial<RuleFields> {
  const { threshold, warning_threshold: warning } = body;
  return fieldsSet<RuleFields>({
    name: body.name,
    agentId: body.agent_id,
    groupBy: body.group_by,
    operator: body.operator,
    threshold: threshold === undefined ? undefined : requireDecimal('/threshold', threshold, { maxDecimals: 9 }),
    warningThreshold:
      warning === undefined || warning === null ? warning : requireDecimal('/warning_threshold', warning, { maxDecimals: 9 }),
    windowS: body.window_s,
    forS: body.for_s,
    keepFiringS: body.keep_firing_s,
    repeatIntervalS: body.repeat_interval_s,
    noDataMode: body.no_data_mode,
    targets: body.targets,
    isActive: body.is_active,
  } satisfies { [F in keyof RuleFields]: unknown });
}

/** The wire form of a rule. */
export function toAlertRuleView(row: AlertRuleRow) {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    scope: row.workspaceId === null ? ('organization' as const) : ('workspace' as const),
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    agent_id: row.agentId,
    group_by: row.groupBy,
    operator: row.operator,
    threshold: money(row.threshold),
    warning_threshold: row.warningThreshold === null ? null : money(row.warningThreshold),
    window_s: row.windowS,
    for_s: row.forS,
    keep_firing_s: row.keepFiringS,
    repeat_interval_s: row.repeatIntervalS,
    no_data_mode: row.noDataMode,
    targets: row.targets.map(toTargetView),
    is_active: row.isActive,
    managed: row.budgetId !== null,
    budget_id: row.budgetId,
    state: row.state,
    last_evaluated_at: iso(row.lastEvaluatedAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

/** A query may hold a token. */
function toTargetView(target: AlertTarget): AlertTarget {
  return target.kind === 'webhook' ? { kind: 'webhook', url: withoutQuery(target.url), secret_name: target.secret_name } : target;
}

/** A URL as it may be shown. */
export function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
