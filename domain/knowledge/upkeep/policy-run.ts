import { readMaintainedBase, readPolicy } from '../../../db/knowledge/bases/maintained-base.ts';
import { payingWorkspace } from '../../../db/knowledge/items/pending-items.ts';
import { hasPolicyRun } from '../../../db/knowledge/runs/runs.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { checkBudgets } from '../../billing/budgets.ts';
import { requestSync } from '../bases/policies.ts';
import { startKnowledgeRun } from '../runs/runs.ts';

/** Why no run was started, or that one was. */
export type PolicyRunOutcome = 'started' | 'no_tasks' | 'gone' | 'frozen' | 'at_work' | 'budget';

/** Starts the run that the policy of a base demands, once per occasion, unless its last run is still working, the base is frozen, or a budget is spent. */
export async function startByPolicy(
  tx: TenantTransaction,
  { kbId, occasion, currency, now }: { readonly kbId: string; readonly occasion: string; readonly currency: string; readonly now: Date },
): Promise<PolicyRunOutcome> {
  const base = await readMaintainedBase(tx, kbId);
  if (base === null) return 'gone';
  const { tasks, schedule } = await readPolicy(tx, kbId);
  if (schedule === null || tasks.length === 0) return 'no_tasks';
  // The hours that clock changes skip are compiled into the schedule for the next 400 days, so it is compiled again once a month.
  await requestSync(tx, base, now.toISOString().slice(0, 7));
  if ((base.isFrozen || base.successorId !== null) && tasks.some((task) => task !== 'verify')) return 'frozen';
  if (await hasPolicyRun(tx, kbId, occasion)) return 'at_work';
  const workspaceId = await payingWorkspace(tx, base);
  if (workspaceId === null || !(await isAffordable(tx, workspaceId))) return 'budget';
  await startKnowledgeRun(tx, base, { kind: 'maintenance', tasks, dryRun: false, params: { occasion }, currency });
  return 'started';
}

async function isAffordable(tx: TenantTransaction, workspaceId: string): Promise<boolean> {
  try {
    await checkBudgets(tx, workspaceId);
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}
