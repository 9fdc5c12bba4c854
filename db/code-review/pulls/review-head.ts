import { now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

const storing = prepared(({ runId, headSha }: ParametersOf<{ readonly runId: string; readonly headSha: string }>) =>
  query.updateTable('runs').set({ reviewHeadSha: headSha, updatedAt: now }).where('id', '=', runId),
);

/** Stores the head that a run reviews. */
export async function storeReviewHead(tx: Pick<TenantTransaction, 'em'>, runId: string, headSha: string): Promise<void> {
  await change(tx.em, storing({ runId, headSha }));
}
