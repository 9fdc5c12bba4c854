import { setTimeout as delay } from 'node:timers/promises';
import { leaseS } from '../../db/billing/budgets/lease.ts';
import { releaseHolds, renewHolds, reserve, type Reservation } from '../../db/billing/budgets/holds.ts';
import { rejectsUnpriced, type PinnedPrice, type UnpricedRule } from '../../db/billing/prices/prices.ts';
import { readTerms } from '../../db/billing/budgets/terms.ts';
import { rollWindows } from '../../db/billing/budgets/windows.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';

/** Runs work in one transaction of its own, in the tenant of the caller. */
export type Transacting = <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;

/** A call that is about to be made, outside of a run. */
export interface PlannedCall {
  readonly callKey: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  /** Keys of the caps that apply; absent: none. */
  readonly caps?: readonly string[];
  readonly model: { readonly id: string; readonly free: boolean };
  /** The most it may cost, at the prices in force: decimal in the billing currency. */
  readonly estimate: (prices: readonly PinnedPrice[]) => string;
}

/** A call that may be made now. */
export interface MeteredCall {
  readonly prices: readonly PinnedPrice[];
  /** When it was reserved, by the database's clock. */
  readonly reservedAt: Date;
  /** Ends the renewal of the call's hold, whatever the outcome of the call. */
  close(): void;
  /** Releases the call's hold: it never left, or cost nothing. */
  release(): Promise<void>;
}

export interface MeteringRules {
  readonly transact: Transacting;
  readonly currency: string;
  readonly unpriced: UnpricedRule;
  readonly signal: AbortSignal;
}

/** How long a call waits for calls in flight to release budget. */
const maxBusyMs = 10_000;
const maxRolls = 5;

/**
 * Reserves a call in the budgets of its workspace before it is made. Throws 402 `budget_exceeded` when a budget is spent, 429 when only holds of calls in
 * flight fill it, 422 `unpriced_model` for a model that may not be called without a price. A key that already has a hold retains it.
 */
export async function openMeteredCall(rules: MeteringRules, call: PlannedCall): Promise<MeteredCall> {
  const { transact, currency, unpriced } = rules;
  const terms = await transact((tx) =>
    readTerms(tx, { id: call.model.id, currency }, { workspaceId: call.workspaceId, caps: call.caps ?? [] }),
  );
  if (!call.model.free && terms.prices.length === 0 && rejectsUnpriced(unpriced, terms.isBounded))
    throw fail('validation_failed', { reason: 'unpriced_model', detail: `The model ${call.model.id} has no price.` });
  const nothing = { prices: terms.prices, reservedAt: terms.at, close: () => undefined, release: async () => undefined };
  if (!terms.isCounted) return nothing;

  const { callKey, organizationId, workspaceId, caps = [] } = call;
  const reservedAt = await hold(rules, { callKey, organizationId, workspaceId, caps, estimate: call.estimate(terms.prices) });
  const timer = setInterval(() => void transact((tx) => renewHolds(tx, callKey)).catch(() => undefined), (leaseS * 1_000) / 6);
  return {
    prices: terms.prices,
    reservedAt,
    close: () => clearInterval(timer),
    release: () => transact((tx) => releaseHolds(tx, callKey)),
  };
}

async function hold({ transact, signal }: MeteringRules, wanted: Reservation): Promise<Date> {
  const end = performance.now() + maxBusyMs;
  for (let rolls = 0; ;) {
    const found = await transact((tx) => reserve(tx, wanted));
    if (found.outcome === 'ok') return found.at;
    if (found.outcome === 'full')
      throw fail('budget_exceeded', { reason: found.fullAt, detail: `The budget of the ${found.fullAt} is spent.` });
    if (found.outcome === 'stale') {
      if (++rolls > maxRolls) throw fail('service_unavailable', { reason: 'budget_windows', detail: 'The budget could not be read.' });
      await transact((tx) => rollWindows(tx.em, wanted.workspaceId));
    } else {
      if (performance.now() > end)
        throw fail('rate_limited', { retryAfterS: 5, reason: 'budget_reserved', detail: 'Calls in flight hold the rest of the budget.' });
      await delay(1_000, undefined, { signal });
    }
  }
}
