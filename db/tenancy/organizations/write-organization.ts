import { sql } from 'kysely';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { organizationColumns, type OrganizationRow } from './organization-row.ts';
import { settingsColumns, type SettingsRow, type Settings } from './settings.ts';

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

/** Writes at least one setting if the row still has this version; returns null when it has another. */
export async function writeSettings(tx: TenantTransaction, locked: SettingsRow, settings: Partial<Settings>): Promise<SettingsRow | null> {
  return row(
    tx.em,
    query
      .updateTable('organization_settings')
      .set(({ eb }) => ({ ...settings, version: eb('version', '+', 1), updatedAt: sql<string>`clock_timestamp()` }))
      .where('organizationId', '=', locked.organizationId)
      .where('version', '=', locked.version)
      .returning(settingsColumns),
  );
}
