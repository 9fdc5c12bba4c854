import { Decimal } from 'decimal.js';
import type { DeliveryEvent } from '../../db/alerts/alert-delivery.entity.ts';
import type { AlertSnapshot } from '../../db/alerts/alert-snapshot.ts';
import type { Letter } from './letter.ts';

/** An event of an alert, as messages present it. */
export interface ToldAlert {
  readonly event: DeliveryEvent;
  readonly alert: AlertSnapshot;
  /** Name of the workspace that the alert is about; null when it is about all of them. */
  readonly workspaceName: string | null;
  /** `PUBLIC_URL`; null when the worker has none, and then there is no link. */
  readonly publicUrl: string | null;
}

/** The mail of an event. */
export function alertLetter(told: ToldAlert): Letter {
  const link = linkOf(told);
  return {
    subject: `[Longhaul] ${headingOf(told)}: ${told.alert.title}`,
    parts: [
      `${headingOf(told)}: ${told.alert.title}.`,
      ...factsOf(told).map(([name, value]) => `${name}: ${value}`),
      ...(link === null ? [] : ['The alert and the state of its notifications:', { link }]),
    ],
  };
}

/**
 * Returns the body that an incoming webhook of Slack takes (https://api.slack.com/messaging/webhooks). Text between `<` and `>` would become a link or a
 * mention, so the three characters are escaped (https://api.slack.com/reference/surfaces/formatting#escaping).
 */
export function slackMessage(told: ToldAlert): string {
  const link = linkOf(told);
  const lines = [
    `*${headingOf(told)}*: ${escapedForSlack(told.alert.title)}`,
    ...factsOf(told).map(([name, value]) => `${name}: ${escapedForSlack(value)}`),
    ...(link === null ? [] : [`<${escapedForSlack(link)}|Open the alert>`]),
  ];
  return JSON.stringify({ text: lines.join('\n') });
}

/** The body of a webhook; the same on each try. */
export function webhookBody(
  { event, alert }: Pick<ToldAlert, 'event' | 'alert'>,
  { id, createdAt }: { id: string; createdAt: string },
): string {
  return JSON.stringify({ id, type: `alert.${event}`, created_at: createdAt, data: alert });
}

function headingOf({ event, alert }: ToldAlert): string {
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

function factsOf({ alert, workspaceName }: ToldAlert): [string, string][] {
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

function linkOf({ alert, publicUrl }: ToldAlert): string | null {
  return publicUrl === null || alert.id === null ? null : `${publicUrl}/alerts/${alert.id}`;
}

function readableTime(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`;
}

function escapedForSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
