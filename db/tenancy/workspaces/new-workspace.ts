import { sql } from 'kysely';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { workspaceColumns, type WorkspaceFields, type WorkspaceRow } from './workspaces.ts';

/** Returns how many workspaces an organization has, and the slugs that start with this one. */
export async function countWorkspaces(tx: TenantTransaction, organizationId: string, slug: string) {
  return row(
    tx.em,
    query
      .selectFrom('workspaces')
      .select(({ fn, ref }) => [
        fn.countAll<number>().as('total'),
        sql<string[]>`coalesce(array_agg(${ref('slug')}) filter (where starts_with(${ref('slug')}, ${slug})), '{}')`.as('alike'),
      ])
      .where('organizationId', '=', organizationId),
  );
}

/** Stores a workspace. A taken slug is 409 `already_exists`. */
export async function writeWorkspace(
  tx: TenantTransaction,
  organizationId: string,
  { slug, name, description, timezone, currency }: WorkspaceFields,
): Promise<WorkspaceRow> {
  const made = await row(
    tx.em,
    query
      .insertInto('workspaces')
      .values({ id: newId(), organizationId, slug, name, description, timezone, currency })
      .returning(workspaceColumns),
  );
  if (!made) throw new Error('an inserted workspace was not returned');
  return made;
}
