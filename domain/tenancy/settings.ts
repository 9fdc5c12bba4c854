import { assertScopeActive } from '../../db/frozen.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { checkIfMatch, type Changing } from '../../db/scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { GitInstallation } from '../../db/tenancy/organizations/organization-settings.entity.ts';
import { refuseWorkspaceScoped } from './organizations.ts';
import { findSettingsForChange, workspacesAmong, type SettingsRow, type Settings } from '../../db/tenancy/organizations/settings.ts';
import { writeSettings } from '../../db/tenancy/organizations/write-organization.ts';

/**
 * Loads and locks settings for a change by a caller of the whole organization. Throws, in this order: 404, 403, what `refuse` throws, 412 by If-Match, 423 when
 * the organization is frozen.
 */
export async function lockSettings(ctx: Changing, organizationId: string, refuse: () => void): Promise<SettingsRow> {
  const found = await findSettingsForChange(ctx, organizationId);
  if (!found) throw fail('not_found');

  refuseWorkspaceScoped(ctx.caller);
  refuse();
  checkIfMatch(ctx, found.version);
  assertScopeActive(found.status);
  return found;
}

/** Writes settings of a locked row; the version is a condition of the update. */
export async function changeSettings(tx: TenantTransaction, locked: SettingsRow, settings: Partial<Settings>): Promise<SettingsRow> {
  if (Object.keys(settings).length === 0) return locked;

  const written = await writeSettings(tx, locked, settings);
  if (!written) throw fail('precondition_failed');
  return written;
}

/** Throws 422 when an installation is to be assigned to a workspace outside of the organization. */
export async function checkInstallations(
  tx: TenantTransaction,
  organizationId: string,
  installations: readonly GitInstallation[],
): Promise<void> {
  if (installations.length === 0) return;
  const known = await workspacesAmong(
    tx,
    organizationId,
    installations.map((installation) => installation.workspace_id),
  );
  const unknownAt = installations.findIndex((installation) => !known.has(installation.workspace_id));

  if (unknownAt >= 0) throw invalid(`/git_installations/${unknownAt}/workspace_id`, 'reference', 'does not refer to an existing workspace');
}
