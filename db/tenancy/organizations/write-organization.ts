import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { OrganizationRow } from './organization-row.ts';
import { columns } from './organizations.ts';

/** What owners can change about an organization. */
export interface OrganizationFields {
  readonly name: string;
  readonly slug: string;
  readonly timezone: string;
}

/** Writes name, slug and time zone if the organization still has this version; returns null when it has another. A taken slug is 409. */
export function writeOrganization(
  tx: TenantTransaction,
  locked: OrganizationRow,
  fields: OrganizationFields,
): Promise<OrganizationRow | null> {
  return row<OrganizationRow>(
    tx.em,
    `update organizations o set name = ?, slug = ?, timezone = ?, version = o.version + 1, updated_at = clock_timestamp()
      where o.id = ? and o.version = ? returning ${columns}`,
    [fields.name, fields.slug, fields.timezone, locked.id, locked.version],
  );
}
