import { sql } from 'kysely';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { organizationColumns, type OrganizationRow } from './organization-row.ts';

/** What owners can change about an organization. */
export type OrganizationFields = Pick<OrganizationRow, 'name' | 'slug' | 'timezone'>;

/** Writes name, slug and time zone if the organization still has this version; returns null when it has another. A taken slug is 409. */
export async function writeOrganization(
  tx: TenantTransaction,
  locked: OrganizationRow,
  { name, slug, timezone }: OrganizationFields,
): Promise<OrganizationRow | null> {
  return row(
    tx.em,
    query
      .updateTable('organizations')
      .set(({ eb }) => ({ name, slug, timezone, version: eb('version', '+', 1), updatedAt: sql<string>`clock_timestamp()` }))
      .where('id', '=', locked.id)
      .where('version', '=', locked.version)
      .returning(organizationColumns),
  );
}
