import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { reviewBinding } from '../pulls/review-run.ts';

const repositoryPlace = prepared(({ bindingId }: ParametersOf<{ readonly bindingId: string }>) =>
  query
    .selectFrom('repo_bindings as b')
    .select(['b.organizationId', 'b.workspaceId', reviewBinding.as('binding')])
    .where('b.id', '=', bindingId)
    .where('b.deletedAt', 'is', null),
);

/** Returns an undeleted binding of the transaction's tenant with what is needed to reach its repository, or null when there is none. */
export function readRepositoryPlace(tx: Pick<TenantTransaction, 'em'>, bindingId: string) {
  return row(tx.em, repositoryPlace({ bindingId }));
}
