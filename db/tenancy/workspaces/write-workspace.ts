import { sql, type UpdateObject } from 'kysely';
import { clockTime } from '../../expressions.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { Tables } from '../../table-types.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { workspaceColumns, type WorkspaceRow, type WorkspaceFields } from './workspaces.ts';

/**
 * Writes the fields of a workspace if the row still has this version; returns null when it has another. The functions below do the same. A taken slug is 409.
 */
export function writeFields(
  tx: TenantTransaction,
  locked: WorkspaceRow,
  { slug, name, description, timezone, currency }: WorkspaceFields,
): Promise<WorkspaceRow | null> {
  return update(tx, locked, { slug, name, description, timezone, currency });
}

/** Archives a workspace; it can be restored for as long as its organization's settings say. */
export function writeArchived(tx: TenantTransaction, locked: WorkspaceRow): Promise<WorkspaceRow | null> {
  const days = query
    .selectFrom('organization_settings as s')
    .select('s.workspaceRetentionDays')
    .whereRef('s.organizationId', '=', sql.ref('workspaces.organizationId'));
  return update(tx, locked, {
    isActive: false,
    archivedAt: clockTime,
    purgeAfter: sql<string>`clock_timestamp() + make_interval(days => ${days})`,
  });
}

/** Restores a workspace. */
export function writeRestored(tx: TenantTransaction, locked: WorkspaceRow): Promise<WorkspaceRow | null> {
  return update(tx, locked, { isActive: true, archivedAt: null, purgeAfter: null });
}

async function update(tx: TenantTransaction, locked: WorkspaceRow, set: UpdateObject<Tables, 'workspaces'>): Promise<WorkspaceRow | null> {
  return row(
    tx.em,
    query
      .updateTable('workspaces')
      .set(set)
      .set(({ eb }) => ({ version: eb('version', '+', 1), updatedAt: clockTime }))
      .where('id', '=', locked.id)
      .where('version', '=', locked.version)
      .returning(workspaceColumns),
  );
}
