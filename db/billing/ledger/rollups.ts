import { queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Minutes of a bucket: the UTC offset of every zone in use today is a multiple of it. */
export const bucketMinutes = 15;

/** What distinguishes rollups of a workspace, in the order of their key. */
export const rollupKeys = ['bucket_start', 'agent_id', 'model', 'kind', 'user_id', 'service_key_id', 'currency'] as const;

/** The sums over ledger rows `e`. */
export const rollupSums = {
  calls: "(e.kind <> 'adjustment')::int",
  input_tokens: 'e.input_tokens',
  cached_read_tokens: 'e.cached_read_tokens',
  cached_write_tokens: 'e.cached_write_tokens',
  output_tokens: 'e.output_tokens',
  reasoning_tokens: 'e.reasoning_tokens',
  cost: 'e.cost',
  estimated_cost: 'case when e.estimated then e.cost else 0 end',
} as const;

/** The key of a ledger row `e`, in the order of `rollupKeys`. */
export const rollupKeySql = `date_bin('${bucketMinutes} minutes', e.occurred_at, timestamptz '2000-01-01 00:00:00+00'), e.agent_id, e.model, e.kind, e.user_id, e.service_key_id, e.currency`;

const sumNames = Object.keys(rollupSums);

const addSql = `
  insert into usage_rollups as r (id, organization_id, workspace_id, ${rollupKeys.join(', ')}, ${sumNames.join(', ')})
  select e.id, e.organization_id, e.workspace_id, ${rollupKeySql}, ${Object.values(rollupSums).join(', ')} from usage_entries e where e.id = ?
  on conflict (workspace_id, ${rollupKeys.join(', ')}) do update set ${sumNames.map((name) => `${name} = r.${name} + excluded.${name}`).join(', ')}`;

/**
 * Adds a ledger row that the transaction has just written to its rollup, with the next statement: the rollup is locked as late as possible, since all calls
 * of an agent meet there. Call it once per transaction, after its windows: transactions with another order could deadlock.
 */
export async function addToRollup(tx: TenantTransaction, entryId: string): Promise<void> {
  await queueStatement(tx.em, addSql, [entryId]);
}
