import type { ApprovalStatus } from '../../workflows/contracts/runs/approvals.ts';
import { fetchPage } from '../page-query.ts';
import { endEarly, type Page, type PageRequest } from '../page.ts';
import type { RunScope } from '../runs/read/run-queries.ts';
import { tenantPredicate } from '../scope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { approvalColumns, type ApprovalRow } from './approval-view.ts';

const maxPageChars = 4 * 1024 * 1024;

/** Lists the questions of a visible run and its descendants, newest first. A page with long arguments ends early. */
export async function listApprovalRows(
  tx: Pick<TenantTransaction, 'em' | 'tenant'>,
  run: RunScope,
  { status }: { readonly status?: ApprovalStatus },
  page: PageRequest,
): Promise<Page<ApprovalRow>> {
  const own = tenantPredicate(tx.tenant, 'a');
  const where = [
    'a.root_run_id = (select root_run_id from runs where id = ?)',
    '(d.id = ?::uuid or d.lineage @> array[?::uuid])',
    'd.deleted_at is null',
    own.sql,
  ];
  const params: unknown[] = [run.id, run.id, run.id, ...own.params];
  if (status !== undefined) {
    where.push('a.status = ?');
    params.push(status);
  }
  const found = await fetchPage<ApprovalRow>(tx.em, {
    select: approvalColumns,
    from: 'approvals a join runs d on d.id = a.run_id',
    where: where.join(' and '),
    params,
    order: [{ column: 'a.id', type: 'uuid', descending: true }],
    page,
  });
  return endEarly(found, { limit: maxPageChars, sizeOf: charsOf, positionOf: ({ id }) => [id] });
}

function charsOf({ args, edited_args: edited, response }: ApprovalRow): number {
  return JSON.stringify([args, edited, response]).length;
}
