import { newId } from '../ids.ts';
import { change, row } from '../sql.ts';
import { organizationColumns, type OrganizationRow } from '../tenancy/organizations/organization-row.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Days between the deletion of an organization and its purge. */
const graceDays = 30;

const columns = organizationColumns('o');

/** Creates an organization with the settings of every new one. 409 when the slug is taken. */
export async function insertOrganization(
  tx: TenantTransaction,
  fields: { readonly name: string; readonly slug: string; readonly timezone: string },
): Promise<OrganizationRow> {
  const made = await row<OrganizationRow>(
    tx.em,
    `insert into organizations as o (id, name, slug, timezone) values (?, ?, ?, ?) returning ${columns}`,
    [newId(), fields.name, fields.slug, fields.timezone],
  );
  if (!made) throw new Error('an inserted organization was not returned');
  await change(tx.em, 'insert into organization_settings (organization_id) values (?)', [made.id]);
  return made;
}

/** Suspends a locked, active organization. */
export function setSuspended(tx: TenantTransaction, id: string, reason: string): Promise<OrganizationRow> {
  return write(tx, id, { sql: "status = 'suspended', suspended_at = now(), suspended_reason = ?", params: [reason] });
}

/** Returns a locked organization to use, from suspension or from its grace period. */
export function setActive(tx: TenantTransaction, id: string): Promise<OrganizationRow> {
  return write(tx, id, { sql: "status = 'active', suspended_at = null, suspended_reason = null, delete_after = null", params: [] });
}

/** Begins the grace period of a locked organization, after which it is purged. */
export function setDeleting(tx: TenantTransaction, id: string): Promise<OrganizationRow> {
  return write(tx, id, { sql: `status = 'deleting', delete_after = now() + interval '${graceDays} days'`, params: [] });
}

async function write(
  tx: TenantTransaction,
  id: string,
  set: { readonly sql: string; readonly params: readonly unknown[] },
): Promise<OrganizationRow> {
  const written = await row<OrganizationRow>(
    tx.em,
    `update organizations o set ${set.sql}, updated_at = clock_timestamp(), version = o.version + 1 where o.id = ? returning ${columns}`,
    [...set.params, id],
  );
  if (!written) throw new Error('a locked organization was not written');
  return written;
}

/** Whether an address is in use anywhere in the deployment. */
export async function isAddressTaken(tx: TenantTransaction, email: string): Promise<boolean> {
  return (await row(tx.em, 'select id from users where email = ? and deleted_at is null', [email])) !== null;
}
