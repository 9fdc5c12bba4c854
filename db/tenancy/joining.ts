import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** What an organization says about who joins it, and its state, under its row's lock; null when there is none. */
export function findJoining(
  tx: TenantTransaction,
  organizationId: string,
): Promise<{ readonly status: string; readonly domains: readonly string[]; readonly days: number } | null> {
  return row<{ status: string; domains: string[]; days: number }>(
    tx.em,
    `select o.status, s.allowed_email_domains as domains, s.invitation_days as days
       from organizations o join organization_settings s on s.organization_id = o.id
      where o.id = ? for no key update of o`,
    [organizationId],
  );
}
