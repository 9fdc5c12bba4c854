import { assertScopeActive } from '../../db/frozen.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { refuseRank } from '../../db/caller-scope.ts';
import { checkIfMatch, type Changing } from '../../db/scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import {
  findWorkspaceForChange,
  type LockedWorkspace,
  type WorkspaceRow,
  type WorkspaceFields,
} from '../../db/tenancy/workspaces/workspaces.ts';
import { resumeWorkspace, stopWorkspace } from './stops.ts';
import { writeArchived, writeFields, writeRestored } from '../../db/tenancy/workspaces/write-workspace.ts';

/**
 * Loads and locks a workspace for a change. Throws, in this order: 404 when it isn't visible, 403 when the caller's role there is below the floor, 412 by
 * If-Match, 423 when it is archived or its organization frozen (unless `openWhenSuspended`).
 */
export async function lockWorkspace(
  ctx: Changing,
  id: string,
  { openWhenSuspended = false }: { readonly openWhenSuspended?: boolean } = {},
): Promise<LockedWorkspace> {
  const found = await findWorkspaceForChange(ctx, id);
  if (!found) throw fail('not_found');

  refuseRank(ctx.caller, id, ctx.floor);
  checkIfMatch(ctx, found.version);
  if (!openWhenSuspended) assertScopeActive(found.status, found.isActive);
  return found;
}

/** Writes the fields of a locked workspace; the version is a condition of the update. Throws 409 when the slug is taken. */
export async function changeWorkspace(tx: TenantTransaction, locked: WorkspaceRow, fields: WorkspaceFields): Promise<WorkspaceRow> {
  return asLocked(await writeFields(tx, locked, fields));
}

/** A workspace before and after a change. */
interface WorkspaceChange {
  readonly before: LockedWorkspace;
  readonly after: WorkspaceRow;
}

/**
 * Archives a workspace, which stops all work in it; it can be restored for as long as its organization's settings say. An archived workspace stays as it is.
 */
export async function archiveWorkspace(ctx: Changing, id: string): Promise<WorkspaceChange> {
  const before = await lockWorkspace(ctx, id, { openWhenSuspended: true });
  if (!before.isActive) return { before, after: before };

  const after = asLocked(await writeArchived(ctx, before));
  await stopWorkspace(ctx, after.id, after.organizationId);
  return { before, after };
}

/** Restores an archived workspace. Throws 404 when the time to restore it has passed; an active workspace stays as it is. */
export async function restoreWorkspace(ctx: Changing, id: string): Promise<WorkspaceChange> {
  const before = await lockWorkspace(ctx, id, { openWhenSuspended: true });
  if (before.isPastPurge) throw fail('not_found');
  if (before.isActive) return { before, after: before };

  const after = asLocked(await writeRestored(ctx, before));
  await resumeWorkspace(ctx, after.id, after.organizationId);
  return { before, after };
}

function asLocked(changed: WorkspaceRow | null): WorkspaceRow {
  if (!changed) throw fail('precondition_failed');
  return changed;
}
