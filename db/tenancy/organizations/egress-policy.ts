import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { EgressAllowance } from './organization-settings.entity.ts';

/** Returns the egress allow-list that an operator has set for an organization; empty for platform rows. */
export async function readEgressAllowlist(
  tx: Pick<TenantTransaction, 'em'>,
  organizationId: string | null,
): Promise<readonly EgressAllowance[]> {
  if (organizationId === null) return [];
  const settings = await row<{ egress_allowlist: EgressAllowance[] }>(
    tx.em,
    'select egress_allowlist from organization_settings where organization_id = ?',
    [organizationId],
  );
  return settings?.egress_allowlist ?? [];
}
