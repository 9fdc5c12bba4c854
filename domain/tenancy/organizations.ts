import { assertScopeActive } from '../../db/frozen.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../../db/caller.ts';
import { workspacesOf } from '../../db/caller-scope.ts';
import { checkIfMatch, type Changing } from '../../db/scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { OrganizationRow } from '../../db/tenancy/organizations/organization-row.ts';
import { findOrganizationForChange } from '../../db/tenancy/organizations/organizations.ts';
import { writeOrganization, type OrganizationFields } from '../../db/tenancy/organizations/write-organization.ts';

interface LockOptions {
  /** True for changes that a suspended or deleting organization still allows. */
  readonly openWhenSuspended?: boolean;
  /** A further rule about who may change it, checked before If-Match and state. */
  readonly refuse?: () => void;
}

/** Throws 403 for a caller of single workspaces: only callers of the whole organization may change what belongs to all of it. */
export function refuseWorkspaceScoped(caller: Caller): void {
  if (workspacesOf(caller) !== null)
    throw fail('resource_forbidden', { detail: 'Only a caller with access to the whole organization can do this.' });
}

/**
 * Loads and locks an organization for a change by a caller of all of it. Throws, in this order: 404 when it isn't visible, 403 for a caller of single
 * workspaces, 412 by If-Match, 423 when it is frozen.
 */
export async function lockOrganization(ctx: Changing, id: string, options: LockOptions = {}): Promise<OrganizationRow> {
  const found = await findOrganizationForChange(ctx, id);
  if (!found) throw fail('not_found');

  refuseWorkspaceScoped(ctx.caller);
  options.refuse?.();
  checkIfMatch(ctx, found.version);
  if (!options.openWhenSuspended) assertScopeActive(found.status);
  return found;
}

/** Writes name, slug and time zone of a locked organization. The version is a condition of the update. Throws 409 when the slug is taken. */
export async function changeOrganization(
  tx: TenantTransaction,
  locked: OrganizationRow,
  fields: OrganizationFields,
): Promise<OrganizationRow> {
  const changed = await writeOrganization(tx, locked, fields);
  if (!changed) throw fail('precondition_failed');
  return changed;
}
