import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { CancelPolicy } from '../read/run-view.ts';
import type { CancelFilter, MatchWorkspace } from './cancellable-runs.ts';

/** Writes bulk cancels with the same filter and policy, one per workspace. */
export async function insertBulkCancels(
  tx: Pick<TenantTransaction, 'em'>,
  drafts: readonly (MatchWorkspace & { readonly id: string })[],
  { filter, policy, reason }: { readonly filter: CancelFilter; readonly policy: CancelPolicy; readonly reason: string | null },
): Promise<void> {
  await rows(
    tx.em,
    `insert into bulk_cancels (id, organization_id, workspace_id, filter, policy, reason, cancelled, created_at)
     select d.id, d.organization_id, d.workspace_id, ?::jsonb, ?, ?, 0, d.asked_at
       from jsonb_to_recordset(?::jsonb) as d(id uuid, organization_id uuid, workspace_id uuid, asked_at timestamptz)`,
    [JSON.stringify(filter), policy, reason, JSON.stringify(drafts)],
  );
}

/** Adds the result of one round of a bulk cancel; a round that cancelled no run finishes it. */
export async function countCancelled(tx: TenantTransaction, id: string, count: number): Promise<void> {
  await rows(tx.em, 'update bulk_cancels set cancelled = cancelled + ?, finished_at = case when ? then now() end where id = ?', [
    count,
    count === 0,
    id,
  ]);
}
