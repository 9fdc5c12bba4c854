import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { writeAudit, type AuditSubject } from '../../db/audit/audit.ts';
import { sealProof, type AuditKeys } from '../../db/audit/seal.ts';
import { newId } from '../../db/ids.ts';
import { emptyOutgoing, nobodyTenant, systemActor } from '../../db/transaction.ts';
import type { Actor } from '../../db/caller.ts';
import { deleteSome, firstLeft, tablesOfOrganization, type Deleted } from '../../db/operator/purge-tables.ts';
import {
  recordStep,
  lockOpenPurge,
  writeRunning,
  endAccess,
  countDeleted,
  deleteDataKeys,
  lockRunningPurge,
  holdOrganization,
  forgetRepliesNaming,
  writeTombstone,
  writeSucceeded,
  writeFailed,
  type PurgeCause,
} from '../../db/operator/write-purges.ts';

// The steps of a purge, each one transaction on the sweeper's pool, since no tenant sees what belongs to the organization any more.

/**
 * Moves a queued purge to running; a running one continues. Returns null when there is none to work on. The beginning is recorded in the platform's chain,
 * sealed, before the first row is deleted: afterwards the organization's own chain may no longer exist.
 */
export async function openPurge(em: SqlEntityManager, keys: AuditKeys, organizationId: string): Promise<readonly string[] | null> {
  const purge = await lockOpenPurge(em, organizationId);
  if (!purge) return null;
  if (purge.status === 'queued') {
    const entryId = await writeEntry(em, organizationId, { purge, action: 'submit' });
    await sealProof(em, keys, { organizationId: null, entryId });
  }
  await writeRunning(em, organizationId);
  return tablesOfOrganization(em);
}

/** Ends all access of people and programs of the organization. */
export async function lockOut(em: SqlEntityManager, organizationId: string): Promise<void> {
  await recordStep(em, organizationId, 'stop');
  await endAccess(em, organizationId);
}

/** Deletes up to 5,000 rows of one table and adds them to the purge's counts. Throws when the purge is not running. */
export async function deleteBatch(
  em: SqlEntityManager,
  organizationId: string,
  { table, after }: { readonly table: string; readonly after: string | null },
): Promise<Deleted> {
  const tables = tablesOfOrganization(em);
  // The table name comes from a workflow history and goes into a statement, so only known tables are accepted.
  if (!tables.includes(table)) throw new Error(`${table} is no table of an organization`);
  const batch = await deleteSome(em, { table, tables, place: { organizationId, workspaceId: null } }, after);
  await countDeleted(em, organizationId, { table, rows: batch.deleted });
  return batch;
}

/** Deletes the organization's data keys: values encrypted under them can never be decrypted again, wherever a copy exists. */
export async function dropKeys(em: SqlEntityManager, organizationId: string): Promise<void> {
  await countDeleted(em, organizationId, { table: 'data_keys', rows: await deleteDataKeys(em, organizationId) });
}

/**
 * Ends a purge: the organization's row becomes a tombstone without a name, and one entry is added to the platform's chain. Returns false when rows have been
 * added meanwhile. A repeat finds the purge ended and changes nothing.
 */
export async function buryOrganization(em: SqlEntityManager, organizationId: string): Promise<boolean> {
  const purge = await lockRunningPurge(em, organizationId);
  if (!purge) return true;
  // A new row takes a key share lock of its organization: from here on none can be added, and earlier ones are visible.
  await holdOrganization(em, organizationId);
  const left = await firstLeft(em, [...tablesOfOrganization(em), 'data_keys'], { organizationId, workspaceId: null });
  if (left !== null) return false;

  await forgetRepliesNaming(em, organizationId);
  await writeTombstone(em, organizationId);
  await writeSucceeded(em, purge.id);
  const counts = Object.values(purge.counts);
  const done = { rows: { to: counts.reduce((sum, rows) => sum + rows, 0) }, tables: { to: counts.length } };
  await writeEntry(em, organizationId, { purge, action: 'purge', changes: done });
  return true;
}

/** Records the step at which a purge has given up. */
export async function failPurge(em: SqlEntityManager, organizationId: string, step: string): Promise<void> {
  await writeFailed(em, organizationId, { step, error: `The step ${step} failed 20 times.` });
}

interface PurgeEntry {
  readonly purge: PurgeCause;
  readonly action: 'submit' | 'purge';
  readonly changes?: AuditSubject['changes'];
}

async function writeEntry(em: SqlEntityManager, organizationId: string, { purge, action, changes = {} }: PurgeEntry): Promise<string> {
  const { reason, requestedByUserId: operatorId } = purge;
  const asked: Actor = { kind: 'operator', id: operatorId, role: 'operator', actingUserId: null, impersonationId: null };
  const actor = operatorId === null ? systemActor : asked;
  const tx = { em, tenant: nobodyTenant, actor, correlationId: newId(), outgoing: emptyOutgoing() };
  const why = { reason: { to: reason ?? 'delete_after has passed' } };
  const note = { resourceType: 'organization', resourceId: organizationId, organizationId: null, changes: { ...why, ...changes } };

  return writeAudit(tx, { action, operationId: null, note, ip: null, userAgent: null });
}
