import { Decimal } from 'decimal.js';
import type { DeliveryEvent } from '../../db/alerts/alert-delivery.entity.ts';
import type { AlertSnapshot } from '../../db/alerts/alert-snapshot.ts';
import type { Letter } from './letter.ts';

/** An event of an alert, as messages present it. */
export interface AlertReport {
  readonly event: DeliveryEvent;
  readonly alert: AlertSnapshot;
  /** Name of the workspace that the alert is about; null when it is about all of them. */
  readonly workspaceName: string | null;
  /** `PUBLIC_URL`; null when the worker has none, and then there is no link. */
  readonly publicUrl: string | null;
}

/** The mail of an event. */
export function alertLetter(report: AlertReport): Letter {
  const link = linkOf(report);
  return {
    subject: `[Longhaul] ${headingOf(report)}: ${report.alert.title}`,
    parts: [
      `${headingOf(report)}: ${report.alert.title}.`,
      ...factsOf(report).map(([name, value]) => `${name}: ${value}`),
      ...(link === null ? [] : ['The alert and the state of its notifications:', { link }]),
    ],
  };
}

/**
 * Returns the body that an incoming webhook of Slack takes (https://api.slack.com/messaging/webhooks). Text between `<` and `>` would become a link or a
 * mention, so the three characters are escaped (https://api.slack.com/reference/surfaces/formatting#escaping).
 */
export function slackMessage(report: AlertReport): string {
  const link = linkOf(report);
  const lines = [
    `*${headingOf(report)}*: ${escapedForSlack(report.alert.title)}`,
    ...factsOf(report).map(([name, value]) => `${name}: ${escapedForSlack(value)}`),
    ...(link === null ? [] : [`<${escapedForSlack(link)}|Open the alert>`]),
  ];
  return JSON.stringify({ text: lines.join('\n') });
}

/** The body of a webhook; the same on each try. */
export function webhookBody(
  { event, alert }: Pick<AlertReport, 'event' | 'alert'>,
  { id, createdAt }: { id: string; createdAt: string },
): string {
  return JSON.stringify({ id, type: `alert.${event}`, created_at: createdAt, data: alert });
}

function headingOf({ event, alert }: AlertReport): string {
  const severity = alert.severity === 'critical' ? 'Critical' : 'Warning';
  switch (event) {
    case 'firing':
      return alert.status === 'no_data' ? 'No data' : severity;
    case 'escalated':
      return 'Now critical';
    case 'repeated':
      return `Still ${severity.toLowerCase()}`;
    case 'resolved':
      return 'Resolved';
    case 'test':
      return 'Test';
    default:
      return event satisfies never;
  }
}

function factsOf({ alert, workspaceName }: AlertReport): [string, string][] {
  const facts: [string, string | null][] = [
    ['Workspace', workspaceName],
    ['Rule', alert.rule_name],
    ['Value', amountOf(alert.kind, alert.value)],
    ['Threshold', amountOf(alert.kind, alert.threshold)],
    ['Since', readableTime(alert.opened_at)],
    ...Object.entries(alert.labels).map(([name, value]): [string, string] => [wordsOf(name), value]),
  ];
  return facts.flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, value]]));
}

/** `agent_id` → `Agent id`. */
function wordsOf(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`;
}

/** Returns a value with the unit of its kind; the currency of money is in the title. */
function amountOf(kind: AlertSnapshot['kind'], value: string | null): string | null {
  if (value === null || kind === 'spend') return value;
  const number = new Decimal(value).toFixed();
  if (kind === 'budget' || kind === 'run_failure_pct') return `${number} %`;
  return kind === 'run_duration_p95' ? `${number} s` : number;
}

function linkOf({ alert, publicUrl }: AlertReport): string | null {
  return publicUrl === null || alert.id === null ? null : `${publicUrl}/alerts/${alert.id}`;
}

function readableTime(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`;
}

function escapedForSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
