import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { writeAudit, type AuditSubject } from '../audit/audit.ts';
import { sealProof, type AuditKeys } from '../audit/seal.ts';
import { newId } from '../ids.ts';
import { emptyOutgoing, nobodyTenant, systemActor } from '../transaction.ts';
import { change, row } from '../sql.ts';
import type { Actor } from '../caller.ts';
import { deleteSome, firstLeft, tablesOfOrganization, type Deleted } from './purge-tables.ts';
import { noteStep } from './purges.ts';

// The steps of a purge, each one transaction on the sweeper's pool: what hangs on the organization is in nobody's sight any more.

/**
 * Takes a queued purge to running; one that runs goes on. Null: there is none to work on. That it begins stands in the platform's chain, sealed, before the
 * first row goes: from then on the organization's own chain may be gone.
 */
export async function openPurge(em: SqlEntityManager, keys: AuditKeys, organizationId: string): Promise<readonly string[] | null> {
  const purge = await row<PurgeCauseRow & { status: string }>(
    em,
    "select status, reason, requested_by_user_id from purges where organization_id = ? and status in ('queued', 'running') for update",
    [organizationId],
  );
  if (!purge) return null;
  if (purge.status === 'queued') {
    const entryId = await writeEntry(em, organizationId, { purge, action: 'submit' });
    await sealProof(em, keys, { organizationId: null, entryId });
  }
  await change(
    em,
    `update purges set status = 'running', started_at = coalesce(started_at, clock_timestamp()), updated_at = clock_timestamp(), version = version + 1
      where organization_id = ? and status in ('queued', 'running')`,
    [organizationId],
  );
  return tablesOfOrganization(em);
}

/** No person and no program of the organization gets in any more. */
export async function lockOut(em: SqlEntityManager, organizationId: string): Promise<void> {
  await noteStep(em, organizationId, 'stop');
  await change(
    em,
    'update users set is_active = false, deactivated_at = coalesce(deactivated_at, now()) where organization_id = ? and is_active',
    [organizationId],
  );
  await change(em, 'update service_keys set revoked_at = now() where organization_id = ? and revoked_at is null', [organizationId]);
  await change(em, 'update oauth_clients set deleted_at = now() where organization_id = ? and deleted_at is null', [organizationId]);
}

/** Deletes up to 5,000 rows of one table and counts them with the purge. Throws when the purge does not run. */
export async function deleteBatch(
  em: SqlEntityManager,
  organizationId: string,
  { table, after }: { readonly table: string; readonly after: string | null },
): Promise<Deleted> {
  const tables = tablesOfOrganization(em);
  // What a history names goes into a statement: only ours do.
  if (!tables.includes(table)) throw new Error(`${table} is no table of an organization`);
  const batch = await deleteSome(em, { table, tables, place: { organizationId, workspaceId: null } }, after);
  await count(em, organizationId, table, batch.deleted);
  return batch;
}

/** Deletes the organization's data keys: whatever was sealed under them stays shut, wherever a copy lies. */
export async function dropKeys(em: SqlEntityManager, organizationId: string): Promise<void> {
  await count(em, organizationId, 'data_keys', await change(em, 'delete from data_keys where organization_id = ?', [organizationId]));
}

/**
 * Ends a purge: the organization's row becomes a tombstone without a name, and one entry stands in the platform's chain. False when rows have
 * come meanwhile. A repeat finds the purge ended and changes nothing.
 */
export async function buryOrganization(em: SqlEntityManager, organizationId: string): Promise<boolean> {
  const purge = await row<PurgeCauseRow & { id: string; counts: Record<string, number> }>(
    em,
    "select id, counts, reason, requested_by_user_id from purges where organization_id = ? and status = 'running' for update",
    [organizationId],
  );
  if (!purge) return true;
  // A new row takes a key share lock of its organization: from here on there is none, and those that came before are seen.
  await row(em, 'select id from organizations where id = ? for update', [organizationId]);
  const left = await firstLeft(em, [...tablesOfOrganization(em), 'data_keys'], { organizationId, workspaceId: null });
  if (left !== null) return false;

  await forgetReplies(em, organizationId);
  await change(
    em,
    `update organizations set name = 'Purged', slug = 'purged:' || id, timezone = 'UTC', suspended_reason = null, purged_at = now(),
            updated_at = now(), version = version + 1 where id = ?`,
    [organizationId],
  );
  await change(
    em,
    "update purges set status = 'succeeded', step = null, last_error = null, finished_at = clock_timestamp(), updated_at = clock_timestamp(), version = version + 1 where id = ?",
    [purge.id],
  );
  const counts = Object.values(purge.counts);
  const done = { rows: { to: counts.reduce((sum, rows) => sum + rows, 0) }, tables: { to: counts.length } };
  await writeEntry(em, organizationId, { purge, action: 'purge', changes: done });
  return true;
}

/** Notes the step at which a purge has given up. */
export async function failPurge(em: SqlEntityManager, organizationId: string, step: string): Promise<void> {
  await change(
    em,
    `update purges set status = 'failed', step = ?, last_error = ?, finished_at = clock_timestamp(), updated_at = clock_timestamp(), version = version + 1
      where organization_id = ? and status = 'running'`,
    [step, `The step ${step} failed 20 times.`, organizationId],
  );
}

async function count(em: SqlEntityManager, organizationId: string, table: string, rows: number): Promise<void> {
  const counted = await change(
    em,
    `update purges set counts = case when ?::int > 0 then jsonb_set(counts, array[?::text], to_jsonb(coalesce((counts ->> ?::text)::bigint, 0) + ?::int)) else counts end,
            step = ?::text, updated_at = clock_timestamp()
      where organization_id = ? and status = 'running'`,
    [rows, table, table, rows, table, organizationId],
  );
  if (counted === 0) throw new Error('The purge does not run');
}

// Replies kept for repeats of what operators asked for name the organization too.
async function forgetReplies(em: SqlEntityManager, organizationId: string): Promise<void> {
  await change(em, "delete from idempotency_keys where organization_id is null and position(convert_to(?, 'UTF8') in body) > 0", [
    organizationId,
  ]);
}

interface PurgeCauseRow {
  readonly reason: string | null;
  readonly requested_by_user_id: string | null;
}

interface PurgeEntry {
  readonly purge: PurgeCauseRow;
  readonly action: 'submit' | 'purge';
  readonly changes?: AuditSubject['changes'];
}

async function writeEntry(em: SqlEntityManager, organizationId: string, { purge, action, changes = {} }: PurgeEntry): Promise<string> {
  const { reason, requested_by_user_id: operatorId } = purge;
  const asked: Actor = { kind: 'operator', id: operatorId, role: 'operator', actingUserId: null, impersonationId: null };
  const actor = operatorId === null ? systemActor : asked;
  const tx = { em, tenant: nobodyTenant, actor, correlationId: newId(), outgoing: emptyOutgoing() };
  const why = { reason: { to: reason ?? 'delete_after has passed' } };
  const note = { resourceType: 'organization', resourceId: organizationId, organizationId: null, changes: { ...why, ...changes } };

  return writeAudit(tx, { action, operationId: null, note, ip: null, userAgent: null });
}
