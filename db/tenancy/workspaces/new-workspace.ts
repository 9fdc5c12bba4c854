import { newId } from '../../ids.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { workspaceColumns, type WorkspaceFields, type WorkspaceRow } from './workspaces.ts';

/** Returns how many workspaces an organization has, and the slugs that start with this one. */
export function countWorkspaces(
  tx: TenantTransaction,
  organizationId: string,
  slug: string,
): Promise<{ readonly total: number; readonly alike: readonly string[] } | null> {
  return row<{ total: number; alike: string[] }>(
    tx.em,
    `select count(*) as total, coalesce(array_agg(slug) filter (where starts_with(slug, ?)), '{}') as alike
       from workspaces where organization_id = ?`,
    [slug, organizationId],
  );
}

/** Stores a workspace. A taken slug is 409 `already_exists`. */
export async function writeWorkspace(tx: TenantTransaction, organizationId: string, fields: WorkspaceFields): Promise<WorkspaceRow> {
  const made = await row<WorkspaceRow>(
    tx.em,
    `insert into workspaces as w (id, organization_id, slug, name, description, timezone, currency)
     values (?, ?, ?, ?, ?, ?, ?) returning ${workspaceColumns}`,
    [newId(), organizationId, fields.slug, fields.name, fields.description, fields.timezone, fields.currency],
  );
  if (!made) throw new Error('an inserted workspace was not returned');
  return made;
}
