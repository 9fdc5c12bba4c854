import { claimTry, readRuleOf, storeTry, waitOf, type DueDelivery } from '../../db/alerts/delivery-tries.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { alertRetries, judgeTry, noRetries, type TryOutcome, type Verdict } from '../deliveries/retries.ts';

export type { DueDelivery } from '../../db/alerts/delivery-tries.ts';

/** A delivery whose next try is due and counted, with its rule; or how long it still waits; or that it is over. */
export type TryClaim =
  | { readonly state: 'due'; readonly delivery: DueDelivery; readonly rule: RuleOfDelivery | null }
  | { readonly state: 'waiting'; readonly waitMs: number }
  | { readonly state: 'over' };

/** The row scope of a delivery's rule. */
export interface RuleOfDelivery {
  readonly workspaceId: string | null;
}

/** Claims the next try of a delivery. `rule` is null when the rule was deleted or paused: only its tests are still sent. */
export async function claimDelivery(tx: TenantTransaction, deliveryId: string): Promise<TryClaim> {
  const delivery = await claimTry(tx, deliveryId);
  if (!delivery) {
    const waitMs = await waitOf(tx, deliveryId);
    return waitMs === null ? { state: 'over' } : { state: 'waiting', waitMs };
  }
  const rule = await readRuleOf(tx, delivery.ruleId);
  const isInForce = rule !== null && (rule.isActive || delivery.event === 'test');
  return { state: 'due', delivery, rule: isInForce ? { workspaceId: rule.workspaceId } : null };
}

/** Judges the outcome of a try. A test has only one try. */
export function verdictOf({ attempts, event }: DueDelivery, outcome: TryOutcome): Verdict {
  return judgeTry(outcome, { attempts, table: event === 'test' ? noRetries : alertRetries, random: Math.random() });
}

/** Stores a try and its verdict, unless a later try has overtaken it. */
export function settleTry(
  tx: TenantTransaction,
  delivery: DueDelivery,
  { outcome, verdict, latencyMs }: { readonly outcome: TryOutcome; readonly verdict: Verdict; readonly latencyMs: number },
): Promise<void> {
  const delayMs = verdict.status === 'failed' ? verdict.delayMs : null;
  return storeTry(tx, delivery, { status: verdict.status, lastStatus: outcome.status, lastError: outcome.error, latencyMs, delayMs });
}
