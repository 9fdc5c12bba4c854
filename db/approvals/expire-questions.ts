import { sql } from 'kysely';
import { clockTime } from '../expressions.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { identityOf, type RunState } from '../runs/run-state.ts';
import { rows } from '../sql.ts';
import { stateBatch, type FrameBatch } from '../streams/append.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { resolvedFrame } from './approval-frames.ts';
import { approvalColumns, changedColumns, responseColumn, type ApprovalRow } from './approval-view.ts';

const expiredOf = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .with('a', (of) =>
      of
        .updateTable('approvals')
        .set({ status: 'expired', resolvedAt: clockTime })
        .where('runId', '=', runId)
        .where('status', '=', sql.lit('pending'))
        .where('expiresAt', '<=', clockTime)
        .returning(changedColumns),
    )
    .selectFrom('a')
    .select(approvalColumns)
    .select(responseColumn)
    .orderBy('a.id'),
);

/** Expires the overdue questions of a locked run and adds their frames. Returns them; no question is returned twice. */
export async function expireQuestions(tx: TenantTransaction, run: RunState, batches: FrameBatch[]): Promise<ApprovalRow[]> {
  const expired = await rows(tx.em, expiredOf({ runId: run.id }));
  if (expired.length > 0) batches.push(stateBatch(identityOf(run), expired.map(resolvedFrame)));
  return expired;
}
