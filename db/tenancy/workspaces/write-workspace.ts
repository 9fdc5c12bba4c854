import type { Predicate } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { workspaceColumns, type WorkspaceRow, type WorkspaceFields } from './workspaces.ts';

/**
 * Writes the fields of a workspace if the row still has this version; returns null when it has another. The functions below do the same. A taken slug is 409.
 */
export function writeFields(tx: TenantTransaction, locked: WorkspaceRow, fields: WorkspaceFields): Promise<WorkspaceRow | null> {
  return update(tx, locked, {
    sql: 'slug = ?, name = ?, description = ?, timezone = ?, currency = ?',
    params: [fields.slug, fields.name, fields.description, fields.timezone, fields.currency],
  });
}

/** Archives a workspace; it can be restored for as long as its organization's settings say. */
export function writeArchived(tx: TenantTransaction, locked: WorkspaceRow): Promise<WorkspaceRow | null> {
  return update(tx, locked, {
    sql: `is_active = false, archived_at = clock_timestamp(), purge_after = clock_timestamp() + make_interval(days =>
      (select s.workspace_retention_days from organization_settings s where s.organization_id = w.organization_id))`,
    params: [],
  });
}

/** Restores a workspace. */
export function writeRestored(tx: TenantTransaction, locked: WorkspaceRow): Promise<WorkspaceRow | null> {
  return update(tx, locked, { sql: 'is_active = true, archived_at = null, purge_after = null', params: [] });
}

function update(tx: TenantTransaction, locked: WorkspaceRow, set: Predicate): Promise<WorkspaceRow | null> {
  return row<WorkspaceRow>(
    tx.em,
    `update workspaces w set ${set.sql}, version = w.version + 1, updated_at = clock_timestamp()
      where w.id = ? and w.version = ? returning ${workspaceColumns}`,
    [...set.params, locked.id, locked.version],
  );
}
