import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Minutes of a bucket: the UTC offset of every zone in use today is a multiple of it. */
export const bucketMinutes = 15;

/** What distinguishes rollups of a workspace, in the order of their key. */
export const rollupKeys = ['bucketStart', 'agentId', 'model', 'kind', 'userId', 'serviceKeyId', 'currency'] as const;

/** The sums of a rollup. */
export const rollupSums = [
  'calls',
  'inputTokens',
  'cachedReadTokens',
  'cachedWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'cost',
  'estimatedCost',
] as const;

/** A query of ledger rows `e`, each as the rollup that it alone would be. */
export function entriesAsRollups() {
  const bucket = sql.lit(`${bucketMinutes} minutes`);
  return query
    .selectFrom('usage_entries as e')
    .select(['e.id', 'e.organizationId', 'e.workspaceId'])
    .select(sql<string>`date_bin(${bucket}, e.occurred_at, timestamptz '2000-01-01 00:00:00+00')`.as('bucketStart'))
    .select(['e.agentId', 'e.model', 'e.kind', 'e.userId', 'e.serviceKeyId', 'e.currency'])
    .select(sql<number>`(e.kind <> 'adjustment')::int`.as('calls'))
    .select(['e.inputTokens', 'e.cachedReadTokens', 'e.cachedWriteTokens', 'e.outputTokens', 'e.reasoningTokens', 'e.cost'])
    .select(sql<string>`case when e.estimated then e.cost else 0 end`.as('estimatedCost'));
}

const adding = prepared(({ entryId }: ParametersOf<{ readonly entryId: string }>) =>
  query
    .insertInto('usage_rollups')
    .columns(['id', 'organizationId', 'workspaceId', ...rollupKeys, ...rollupSums])
    .expression(entriesAsRollups().where('e.id', '=', entryId))
    .onConflict((conflict) =>
      conflict.columns(['workspaceId', ...rollupKeys]).doUpdateSet(({ eb, ref }) => ({
        calls: eb('usage_rollups.calls', '+', ref('excluded.calls')),
        inputTokens: eb('usage_rollups.inputTokens', '+', ref('excluded.inputTokens')),
        cachedReadTokens: eb('usage_rollups.cachedReadTokens', '+', ref('excluded.cachedReadTokens')),
        cachedWriteTokens: eb('usage_rollups.cachedWriteTokens', '+', ref('excluded.cachedWriteTokens')),
        outputTokens: eb('usage_rollups.outputTokens', '+', ref('excluded.outputTokens')),
        reasoningTokens: eb('usage_rollups.reasoningTokens', '+', ref('excluded.reasoningTokens')),
        cost: eb('usage_rollups.cost', '+', ref('excluded.cost')),
        estimatedCost: eb('usage_rollups.estimatedCost', '+', ref('excluded.estimatedCost')),
      })),
    ),
);

/**
 * Adds a ledger row that the transaction has just written to its rollup, with the next statement: the rollup is locked as late as possible, since all calls
 * of an agent meet there. Call it once per transaction, after its windows: transactions with another order could deadlock.
 */
export async function addToRollup(tx: TenantTransaction, entryId: string): Promise<void> {
  await queueStatement(tx.em, adding({ entryId }));
}
