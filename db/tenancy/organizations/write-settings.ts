import { sql } from 'kysely';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { settingsColumns, type SettingsRow, type Settings } from './settings.ts';

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
