import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { settingNames, settingTypes, columns, type SettingsRow, type Settings } from './settings.ts';

/** Writes at least one setting if the row still has this version; returns null when it has another. */
export function writeSettings(tx: TenantTransaction, locked: SettingsRow, settings: Partial<Settings>): Promise<SettingsRow | null> {
  const changed = settingNames.filter((name) => settings[name] !== undefined);
  const values = changed.map((name) => (settingTypes[name] === 'jsonb' ? JSON.stringify(settings[name]) : settings[name]));
  return row<SettingsRow>(
    tx.em,
    `update organization_settings s set ${changed.map((name) => `${name} = ?::${settingTypes[name]}`).join(', ')},
       version = s.version + 1, updated_at = clock_timestamp()
      where s.organization_id = ? and s.version = ? returning ${columns}`,
    [...values, locked.organization_id, locked.version],
  );
}
