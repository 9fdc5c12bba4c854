import { isStepAllowed } from '../../db/billing/budgets/budget-wait.ts';
import { capsAbove } from '../../db/billing/budgets/cap-keys.ts';
import { releaseHolds, renewHolds, reserve, type ReserveResult } from '../../db/billing/budgets/holds.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

/** A call of a run's step that is about to be made. */
export interface StepCall {
  readonly run: {
    readonly id: string;
    readonly organization_id: string;
    readonly workspace_id: string;
    readonly lineage: readonly string[];
    readonly evaluation_run_id: string | null;
    readonly binding_id?: string | null;
    readonly review_pull_request_id?: string | null;
    readonly started_at?: string | null;
  };
  readonly step: number;
  readonly callKey: string;
  /** The most it may cost: decimal in the billing currency. */
  readonly estimate: string;
}

/**
 * Holds what a call may cost in every budget and cap above it, or in none. When a budget is full, an admin may have allowed the step: then it is held anyway.
 * Returns `ok` again for a call key that already has a hold. Each statement is a transaction of its own (`withAutocommit`).
 */
export async function reserveForStep(tx: TenantTransaction, { run, step, callKey, estimate }: StepCall): Promise<ReserveResult> {
  const wanted = { callKey, organizationId: run.organization_id, workspaceId: run.workspace_id, caps: capsAbove(run), estimate };
  const found = await reserve(tx, wanted);
  if (found.outcome !== 'full' || !(await isStepAllowed(tx, { runId: run.id, step }))) return found;
  return reserve(tx, { ...wanted, isAllowed: true });
}

/** Extends the lease of a call in flight. Returns false when it no longer holds anything. */
export function renewHold(tx: TenantTransaction, callKey: string): Promise<boolean> {
  return renewHolds(tx, callKey);
}

/** Releases the hold of a call that never left, or cost nothing. */
export function releaseHold(tx: TenantTransaction, callKey: string): Promise<void> {
  return releaseHolds(tx, callKey);
}
