import { fail } from '../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { OrganizationRow } from '../../db/tenancy/organizations/organization-row.ts';
import type { WorkspaceFields, WorkspaceRow } from '../../db/tenancy/workspaces/workspaces.ts';
import { countWorkspaces, writeWorkspace } from '../../db/tenancy/workspaces/new-workspace.ts';

/** Archived workspaces count, since they can be restored. The connection settings of a caller hold as many. */
export const maxWorkspaces = 1_000;

/** Null: derived from the name. */
type NewWorkspace = Omit<WorkspaceFields, 'slug'> & { readonly slug: string | null };

/**
 * Creates a workspace in an organization that the transaction has locked, so that two concurrent requests can neither exceed the limit nor get the same slug.
 * Throws 409 `limit_reached`, and `already_exists` when the requested slug is taken.
 */
export async function insertWorkspace(tx: TenantTransaction, organization: OrganizationRow, fields: NewWorkspace): Promise<WorkspaceRow> {
  const base = fields.slug ?? slugOf(fields.name);
  const present = await countWorkspaces(tx, organization.id, base);
  if (present && present.total >= maxWorkspaces)
    throw fail('state_conflict', { reason: 'limit_reached', detail: `An organization can have at most ${maxWorkspaces} workspaces.` });
  const slug = fields.slug ?? freeSlug(base, new Set(present?.alike));

  return writeWorkspace(tx, organization.id, { ...fields, slug });
}

/** Derives a slug from a name: Latin letters without diacritics, digits, and a hyphen for everything between. */
export function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  // Leaves room for the number.
  const words = plain
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 110)
    .replace(/-$/, '');
  return words === '' ? 'workspace' : words;
}

/** The slug itself, else the first free one of `slug-2`, `slug-3`, … */
export function freeSlug(slug: string, taken: ReadonlySet<string>): string {
  if (!taken.has(slug)) return slug;
  let number = 2;
  while (taken.has(`${slug}-${number}`)) number += 1;
  return `${slug}-${number}`;
}
