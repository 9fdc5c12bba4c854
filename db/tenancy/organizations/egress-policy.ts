import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { EgressAllowance } from './organization-settings.entity.ts';

const allowlistOf = prepared(({ organizationId }: ParametersOf<{ readonly organizationId: string }>) =>
  query.selectFrom('organization_settings as s').select('s.egressAllowlist').where('s.organizationId', '=', organizationId),
);

/** Returns the egress allow-list that an operator has set for an organization; empty for platform rows. */
export async function readEgressAllowlist(
  tx: Pick<TenantTransaction, 'em'>,
  organizationId: string | null,
): Promise<readonly EgressAllowance[]> {
  if (organizationId === null) return [];
  return (await row(tx.em, allowlistOf({ organizationId })))?.egressAllowlist ?? [];
}
