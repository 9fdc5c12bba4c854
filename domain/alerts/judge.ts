import { Decimal } from 'decimal.js';
import type { AlertGrouping, AlertOperator, SamplerKind } from '../../db/alerts/alert-rule.entity.ts';
import type { AlertSeverity } from '../../db/alerts/alert-state.entity.ts';
import type { AlertLabels } from '../../db/alerts/alert.entity.ts';
import type { Measured } from '../../db/alerts/samples.ts';
import type { TickRule } from '../../db/alerts/tick.ts';
import { money } from '../../db/money.ts';
import type { Sample } from './reducer.ts';

/** One group of a rule at a tick, with the measured value; null for none. */
export interface Group {
  readonly fingerprint: string;
  readonly value: string | null;
  /** False: the group is known from earlier ticks, but has no row now. */
  readonly isMeasured: boolean;
}

/** Without data these have no value; a count or a sum without data is 0. */
const withoutZero: readonly string[] = ['run_failure_pct', 'run_duration_p95'] satisfies SamplerKind[];

/** Returns the groups of a rule: those measured, and those with a state from earlier ticks. A rule without grouping has one. */
export function groupsOf(rule: Pick<TickRule, 'kind' | 'groupBy'>, measured: readonly Measured[], known: Iterable<string>): Group[] {
  const groups = new Map<string, Group>();
  for (const { key, isOther, value } of measured) {
    const fingerprint = fingerprintOf(rule.groupBy, isOther ? null : key);
    groups.set(fingerprint, { fingerprint, value, isMeasured: true });
  }
  const nothing = withoutZero.includes(rule.kind) ? null : '0';
  const expected = rule.groupBy === 'none' ? [fingerprintOf('none', null)] : known;
  for (const fingerprint of expected)
    if (!groups.has(fingerprint)) groups.set(fingerprint, { fingerprint, value: nothing, isMeasured: rule.groupBy === 'none' });
  return [...groups.values()];
}

function fingerprintOf(groupBy: AlertGrouping, key: string | null): string {
  if (groupBy === 'none') return 'all';
  return key === null ? 'other' : `${groupBy}:${key}`;
}

/** Compares a value with the thresholds of its rule. */
export function sampleOf(rule: Pick<TickRule, 'operator' | 'threshold' | 'warningThreshold'>, value: string | null): Sample {
  if (value === null) return { kind: 'none' };
  if (breaches(rule.operator, value, rule.threshold)) return { kind: 'breach', level: 'critical' };
  if (rule.warningThreshold !== null && breaches(rule.operator, value, rule.warningThreshold)) return { kind: 'breach', level: 'warning' };
  return { kind: 'fine' };
}

function breaches(operator: AlertOperator, value: string, threshold: string): boolean {
  const measured = new Decimal(value);
  switch (operator) {
    case 'gt':
      return measured.gt(threshold);
    case 'gte':
      return measured.gte(threshold);
    case 'lt':
      return measured.lt(threshold);
    case 'lte':
      return measured.lte(threshold);
    default:
      return operator satisfies never;
  }
}

/** Returns the labels of a group's alert, and the alert's workspace: the group's, if a rule of the organization groups by workspace. */
export function alertScopeOf(
  rule: Pick<TickRule, 'workspaceId' | 'agentId'>,
  fingerprint: string,
): { labels: AlertLabels; workspaceId: string | null } {
  const [kind = '', id = ''] = fingerprint.split(':');
  const agent: AlertLabels = rule.agentId === null ? {} : { agent_id: rule.agentId };
  if (kind === 'workspace') return { labels: { ...agent, workspace_id: id }, workspaceId: id };
  if (kind === 'agent') return { labels: { agent_id: id }, workspaceId: rule.workspaceId };
  return { labels: kind === 'other' ? { ...agent, group: 'other' } : agent, workspaceId: rule.workspaceId };
}

const signs: Readonly<Record<AlertOperator, string>> = { gt: 'above', gte: 'at or above', lt: 'below', lte: 'at or below' };

/** One line about a reading, and the threshold that it names. */
export function readingOf(
  rule: Pick<TickRule, 'name' | 'kind' | 'operator' | 'threshold' | 'warningThreshold' | 'windowS'>,
  { value, level, currency }: { readonly value: string | null; readonly level: AlertSeverity; readonly currency: string },
): { title: string; threshold: string } {
  const threshold = level === 'warning' && rule.warningThreshold !== null ? rule.warningThreshold : rule.threshold;
  if (value === null) return { title: `${rule.name}: nothing to measure within ${durationOf(rule.windowS)}`, threshold };
  const said = wordsOf(rule.kind, { value, currency, within: durationOf(rule.windowS) });
  return { title: `${rule.name}: ${said}, ${signs[rule.operator]} ${numberOf(threshold)}`, threshold };
}

function wordsOf(kind: TickRule['kind'], { value, currency, within }: { value: string; currency: string; within: string }): string {
  const number = numberOf(value);
  switch (kind) {
    case 'spend':
      return `${money(value)} ${currency} spent within ${within}`;
    case 'run_failures':
      return `${number} runs failed within ${within}`;
    case 'run_failure_pct':
      return `${number} % of the runs failed within ${within}`;
    case 'run_duration_p95':
      return `95 % of the runs took up to ${number} s within ${within}`;
    case 'runs_waiting':
      return `${number} runs are queued or waiting`;
    case 'delivery_failures':
      return `${number} deliveries failed for good within ${within}`;
    case 'schedule_missed':
      return `${number} occurrences of schedules were missed within ${within}`;
    case 'unpriced_usage':
      return `${number} calls without a price within ${within}`;
    case 'budget':
      return `${number} % of the budget`;
    default:
      return kind satisfies never;
  }
}

function numberOf(value: string): string {
  return new Decimal(value).toDecimalPlaces(2).toFixed();
}

function durationOf(seconds: number): string {
  const [unit, size] =
    seconds % 86_400 === 0
      ? ['day', 86_400]
      : seconds % 3_600 === 0
        ? ['hour', 3_600]
        : seconds % 60 === 0
          ? ['minute', 60]
          : ['second', 1];
  const count = seconds / Number(size);
  return count === 1 ? `a ${unit}`.replace('a hour', 'an hour') : `${count} ${unit}s`;
}
