import { queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { UsageTotals } from '../run-types.ts';

/** Writes what a run has cost so far, alone and with all runs below it. Goes with the next statement. */
export async function writeUsage(
  tx: TenantTransaction,
  runId: string,
  { own, subtree }: { readonly own: UsageTotals; readonly subtree: UsageTotals },
): Promise<void> {
  await queueStatement(tx.em, 'update runs set usage_own = ?::jsonb, usage_subtree = ?::jsonb, updated_at = now() where id = ?', [
    JSON.stringify(own),
    JSON.stringify(subtree),
    runId,
  ]);
}

/** Writes what runs have cost with all runs below them. Goes with the next statement; sends none when there are no runs. */
export async function writeSubtrees(
  tx: TenantTransaction,
  runs: readonly { readonly id: string; readonly subtree: UsageTotals }[],
): Promise<void> {
  if (runs.length === 0) return;
  await queueStatement(
    tx.em,
    'update runs r set usage_subtree = n.subtree, updated_at = now() from jsonb_to_recordset(?::jsonb) as n(id uuid, subtree jsonb) where r.id = n.id',
    [JSON.stringify(runs)],
  );
}

/** Writes what a model step has cost. Goes with the next statement. */
export async function writeStepUsage(
  tx: TenantTransaction,
  { runId, step }: { readonly runId: string; readonly step: number },
  usage: UsageTotals,
): Promise<void> {
  await queueStatement(tx.em, 'update run_steps set usage = ?::jsonb where run_id = ? and step = ? and tool_call_id is null', [
    JSON.stringify(usage),
    runId,
    step,
  ]);
}
