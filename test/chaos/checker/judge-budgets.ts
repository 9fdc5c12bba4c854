import { Decimal } from 'decimal.js';
import type { AlertFact, Evidence, Fault, NoticeFact, WindowFact } from './evidence.ts';

/**
 * Every window has spent what the ledger says of it, holds nothing any more and was not passed; who has to know was notified: once by the rows, and at least once,
 * always under the same id, at the receiver.
 */
export function judgeBudgets({ windows, alerts, notices, arrived }: Evidence): Fault[] {
  return [
    ...windows.flatMap(windowFaults),
    ...windows.flatMap((window) => crossingFaults(window, alerts)),
    ...alerts.flatMap(noticeFaults),
    ...arrivalFaults(notices, arrived),
  ];
}

function windowFaults(window: WindowFact): Fault[] {
  const { name, spent, ledger, reserved, limit } = window;
  const faults: Fault[] = [];
  if (!new Decimal(spent).eq(ledger)) faults.push(`${name}: the window has spent ${spent}, the ledger says ${ledger}`);
  if (!new Decimal(reserved).isZero()) faults.push(`${name}: the window still holds ${reserved}`);
  if (limit === null || !window.is_enforced) return faults;
  // A try whose worker was lost gave back what it held, and may have been settled late; what an admin let pass is past it.
  const most = new Decimal(limit).plus(new Decimal(window.max_call).times(1 + window.allowed));
  return most.lt(spent) ? [...faults, `${name}: the window is at ${spent}, past its limit of ${limit}`] : faults;
}

/** A budget that is not written anew has one alert a window. */
function crossingFaults(
  { name, limit, spent, budget_id: budgetId, budget_version: version }: WindowFact,
  alerts: readonly AlertFact[],
): Fault[] {
  if (budgetId === null || limit === null || version !== 1 || new Decimal(spent).lt(limit)) return [];
  const own = alerts.filter((alert) => alert.budget_id === budgetId);
  if (own.length !== 1) return [`${name}: the window is full and has ${own.length} alerts`];
  return own[0]?.severity === 'critical' && own[0].notices.length > 0 ? [] : [`${name}: nobody was notified that the window is full`];
}

function noticeFaults({ id, notices }: AlertFact): Fault[] {
  return notices
    .filter(({ times }) => times > 1)
    .map(({ event, target_key: target, times }) => `alert ${id}: ${target} has ${times} notices of ${event}`);
}

function arrivalFaults(notices: readonly NoticeFact[], arrived: readonly string[]): Fault[] {
  const known = new Set(notices.map(({ id }) => id));
  const got = new Set(arrived);
  return [
    ...notices.filter(({ status }) => status !== 'sent').map(({ id, event, status }) => `notice ${id} of ${event} is ${status}`),
    ...notices.filter(({ id }) => !got.has(id)).map(({ id, event }) => `notice ${id} of ${event} never arrived`),
    ...[...got].filter((id) => !known.has(id)).map((id) => `a notice arrived under ${id}, which no row has`),
  ];
}
