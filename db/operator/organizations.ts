import { sql, type UpdateObject } from 'kysely';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { Tables } from '../table-types.ts';
import { organizationColumns, type OrganizationRow } from '../tenancy/organizations/organization-row.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Days between the deletion of an organization and its purge. */
const graceDays = 30;

/** Creates an organization with the settings of every new one. 409 when the slug is taken. */
export async function insertOrganization(
  tx: TenantTransaction,
  { name, slug, timezone }: { readonly name: string; readonly slug: string; readonly timezone: string },
): Promise<OrganizationRow> {
  const made = await row(
    tx.em,
    query.insertInto('organizations').values({ id: newId(), name, slug, timezone }).returning(organizationColumns),
  );
  if (!made) throw new Error('an inserted organization was not returned');
  await change(tx.em, query.insertInto('organization_settings').values({ organizationId: made.id }));
  return made;
}

/** Suspends a locked, active organization. */
export function setSuspended(tx: TenantTransaction, id: string, reason: string): Promise<OrganizationRow> {
  return write(tx, id, { status: 'suspended', suspendedAt: sql<string>`now()`, suspendedReason: reason });
}

/** Returns a locked organization to use, from suspension or from its grace period. */
export function setActive(tx: TenantTransaction, id: string): Promise<OrganizationRow> {
  return write(tx, id, { status: 'active', suspendedAt: null, suspendedReason: null, deleteAfter: null });
}

/** Begins the grace period of a locked organization, after which it is purged. */
export function setDeleting(tx: TenantTransaction, id: string): Promise<OrganizationRow> {
  return write(tx, id, { status: 'deleting', deleteAfter: sql<string>`now() + make_interval(days => ${graceDays})` });
}

async function write(tx: TenantTransaction, id: string, set: UpdateObject<Tables, 'organizations'>): Promise<OrganizationRow> {
  const written = await row(
    tx.em,
    query
      .updateTable('organizations')
      .set(set)
      .set(({ eb }) => ({ version: eb('version', '+', 1), updatedAt: sql<string>`clock_timestamp()` }))
      .where('id', '=', id)
      .returning(organizationColumns),
  );
  if (!written) throw new Error('a locked organization was not written');
  return written;
}

/** Whether an address is in use anywhere in the deployment. */
export async function isAddressTaken(tx: TenantTransaction, email: string): Promise<boolean> {
  const user = query.selectFrom('users').select('id').where('email', '=', email).where('deletedAt', 'is', null);
  return (await row(tx.em, user)) !== null;
}
