import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { writeAudit, type AuditSubject } from '../../db/audit/audit.ts';
import { newId } from '../../db/ids.ts';
import { emptyOutgoing, organizationTenant, systemActor } from '../../db/transaction.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { deleteSome, tablesOfWorkspace, type Deleted } from '../../db/operator/purge-tables.ts';
import { holdDue, leaveImpersonations, moveHomes, eraseHomeless, deleteDueWorkspace } from '../../db/operator/purge-workspace.ts';
import type { DueWorkspace } from '../../db/operator/due-workspaces.ts';

/** Tables whose rows are deleted, children first. */
export function tablesToClear(em: SqlEntityManager): string[] {
  return tablesOfWorkspace(em);
}

/**
 * Gives the people of a workspace another home before it is deleted: the workspace of their highest grant, with that rank. People without a grant are erased:
 * address, name and credentials are deleted, the id stays for what they have created. Each gets an audit entry. Repeatable; returns false when the workspace is
 * no longer due.
 */
export async function rehouse(em: SqlEntityManager, workspace: DueWorkspace): Promise<boolean> {
  const { id } = workspace;
  if (!(await holdDue(em, id))) return false;
  await leaveImpersonations(em, id);
  const moved = await moveHomes(em, id);
  for (const user of moved)
    await note(em, workspace, { action: 'update', userId: user.id, changes: { workspace_id: { from: id, to: user.workspaceId } } });
  for (const userId of await eraseHomeless(em, workspace)) await note(em, workspace, { action: 'delete', userId, changes: {} });
  return true;
}

/** Deletes up to 5,000 rows of one table. */
export function clearTable(
  em: SqlEntityManager,
  workspace: DueWorkspace,
  { table, after }: { readonly table: string; readonly after: string | null },
): Promise<Deleted> {
  const place = { organizationId: workspace.organizationId, workspaceId: workspace.id };
  return deleteSome(em, { table, tables: tablesOfWorkspace(em), place }, after);
}

/** Removes the empty workspace and records that in its organization's audit log, in one transaction. A repeat finds it removed. */
export async function removeWorkspace(em: SqlEntityManager, { id, organizationId }: DueWorkspace): Promise<void> {
  const slug = await deleteDueWorkspace(em, id);
  if (slug === null) return;
  const subject = { resourceType: 'workspace', resourceId: id, label: slug, organizationId, changes: {} };
  await writeAudit(transactionOf(em, organizationId), { action: 'purge', operationId: null, note: subject, ip: null, userAgent: null });
}

interface PersonNote {
  readonly action: 'update' | 'delete';
  readonly userId: string;
  readonly changes: NonNullable<AuditSubject['changes']>;
}

async function note(em: SqlEntityManager, { organizationId }: DueWorkspace, { action, userId, changes }: PersonNote): Promise<void> {
  const subject = { resourceType: 'user', resourceId: userId, organizationId, changes };
  await writeAudit(transactionOf(em, organizationId), { action, operationId: null, note: subject, ip: null, userAgent: null });
}

function transactionOf(em: SqlEntityManager, organizationId: string): TenantTransaction {
  return { em, tenant: organizationTenant(organizationId), actor: systemActor, correlationId: newId(), outgoing: emptyOutgoing() };
}
