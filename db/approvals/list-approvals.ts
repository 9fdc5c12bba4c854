import { sql } from 'kysely';
import type { ApprovalStatus } from '../../workflows/contracts/runs/approvals.ts';
import type { Condition } from '../condition.ts';
import { preparedList } from '../page-query.ts';
import { endEarly, type Page, type PageRequest } from '../page.ts';
import type { ParametersOf } from '../prepared.ts';
import type { RunScope } from '../runs/read/run-queries.ts';
import { tenantPredicate } from '../scope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { selectApprovals, type ApprovalRow } from './approval-view.ts';

const maxPageChars = 4 * 1024 * 1024;

interface ListArguments {
  readonly runId: string;
  readonly own: Condition;
  readonly status: ApprovalStatus | undefined;
}

const approvalList = preparedList(
  ({ runId, own, status }: ParametersOf<ListArguments>) => {
    const listed = selectApprovals()
      .innerJoin('runs as d', 'd.id', 'a.runId')
      .where('a.rootRunId', '=', ({ selectFrom }) => selectFrom('runs').select('rootRunId').where('id', '=', runId))
      .where(sql<boolean>`(d.id = ${runId}::uuid or d.lineage @> array[${runId}::uuid])`)
      .where('d.deletedAt', 'is', null)
      .where(own);
    return status ? listed.where('a.status', '=', status) : listed;
  },
  [{ column: 'a.id', type: 'uuid', descending: true }],
);

/** Lists the questions of a visible run and its descendants, newest first. A page with long arguments ends early. */
export async function listApprovalRows(
  tx: Pick<TenantTransaction, 'em' | 'tenant'>,
  run: RunScope,
  { status }: { readonly status?: ApprovalStatus },
  page: PageRequest,
): Promise<Page<ApprovalRow>> {
  const found = await approvalList(tx.em, { runId: run.id, own: tenantPredicate(tx.tenant, 'a'), status }, page);
  return endEarly(found, { limit: maxPageChars, sizeOf: charsOf, positionOf: ({ id }) => [id] });
}

function charsOf({ args, editedArgs, response }: ApprovalRow): number {
  return JSON.stringify([args, editedArgs, response]).length;
}
