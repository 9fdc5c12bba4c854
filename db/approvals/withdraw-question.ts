import { sql } from 'kysely';
import { clockTime } from '../expressions.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { approvalColumns, changedColumns, responseColumn, type ApprovalRow } from './approval-view.ts';

interface Which {
  readonly id: string | undefined;
  readonly toolCallId: string | undefined;
}

const withdrawn = prepared(({ id, toolCallId }: ParametersOf<Which>) => {
  const pending = query
    .updateTable('approvals')
    .set({ status: 'cancelled', resolvedByKind: 'system', resolvedAt: clockTime })
    .where('status', '=', sql.lit('pending'))
    .returning(changedColumns);
  return query
    .with('a', () => (id ? pending.where('id', '=', id) : pending.where('toolCallId', '=', toolCallId ?? null)))
    .selectFrom('a')
    .select(approvalColumns)
    .select(responseColumn);
});

/** Withdraws a pending question, by its id or its call, because what it asked for has arrived in another way. Returns null when it is not pending. */
export function withdrawQuestion(
  tx: TenantTransaction,
  which: { readonly id: string } | { readonly toolCallId: string },
): Promise<ApprovalRow | null> {
  return row(tx.em, withdrawn({ id: undefined, toolCallId: undefined, ...which }));
}
