import { Decimal } from 'decimal.js';
import type { AlertFact, Evidence, Fault, WindowFact } from './evidence.ts';

/** Every window has spent what the ledger says of it, holds nothing any more and was not passed; who has to know was notified, once. */
export function judgeBudgets({ windows, alerts }: Evidence): Fault[] {
  return [
    ...windows.flatMap(windowFaults),
    ...windows.flatMap((window) => crossingFaults(window, alerts)),
    ...alerts.flatMap(noticeFaults),
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
