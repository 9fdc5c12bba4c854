import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../ids.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { columns, type PurgeRow } from './purges.ts';

/** Who requested a purge, and why. Null: it was due by time. */
export interface PurgeCause {
  readonly reason: string | null;
  readonly requestedByUserId: string | null;
}

/** Returns the queued or running purge of an organization, or requeues and returns the failed one; null when there is none. */
export function reopenPurge(tx: TenantTransaction, organizationId: string): Promise<PurgeRow | null> {
  return row<PurgeRow>(
    tx.em,
    `update purges set status = case status when 'failed' then 'queued' else status end, last_error = null, finished_at = null, updated_at = clock_timestamp(),
            version = version + 1
      where id = (select id from purges where organization_id = ? and status <> 'succeeded' order by id desc limit 1) returning ${columns}`,
    [organizationId],
  );
}

/** Stores a queued purge. */
export function insertPurge(tx: TenantTransaction, organizationId: string, cause: PurgeCause): Promise<PurgeRow | null> {
  return row<PurgeRow>(
    tx.em,
    `insert into purges (id, organization_id, reason, requested_by_user_id) values (?, ?, ?, ?) returning ${columns}`,
    [newId(), organizationId, cause.reason, cause.requestedByUserId],
  );
}

/** Records the current step of a purge. */
export async function noteStep(em: SqlEntityManager, organizationId: string, step: string): Promise<void> {
  await change(
    em,
    "update purges set step = ?, updated_at = clock_timestamp() where organization_id = ? and status = 'running' and step is distinct from ?",
    [step, organizationId, step],
  );
}

/** Deactivates the users of an organization, revokes its keys and deletes its clients. */
export async function endAccess(em: SqlEntityManager, organizationId: string): Promise<void> {
  await change(
    em,
    'update users set is_active = false, deactivated_at = coalesce(deactivated_at, now()) where organization_id = ? and is_active',
    [organizationId],
  );
  await change(em, 'update service_keys set revoked_at = now() where organization_id = ? and revoked_at is null', [organizationId]);
  await change(em, 'update oauth_clients set deleted_at = now() where organization_id = ? and deleted_at is null', [organizationId]);
}

/** Marks a running purge as failed. */
export async function writeFailed(
  em: SqlEntityManager,
  organizationId: string,
  { step, error }: { readonly step: string; readonly error: string },
): Promise<void> {
  await change(
    em,
    `update purges set status = 'failed', step = ?, last_error = ?, finished_at = clock_timestamp(), updated_at = clock_timestamp(), version = version + 1
      where organization_id = ? and status = 'running'`,
    [step, error, organizationId],
  );
}

/** Adds deleted rows to the counts of their purge. Throws when it does not run. */
export async function countDeleted(
  em: SqlEntityManager,
  organizationId: string,
  { table, rows }: { readonly table: string; readonly rows: number },
): Promise<void> {
  const counted = await change(
    em,
    `update purges set counts = case when ?::int > 0 then jsonb_set(counts, array[?::text], to_jsonb(coalesce((counts ->> ?::text)::bigint, 0) + ?::int)) else counts end,
            step = ?::text, updated_at = clock_timestamp()
      where organization_id = ? and status = 'running'`,
    [rows, table, table, rows, table, organizationId],
  );
  if (counted === 0) throw new Error('The purge does not run');
}

/** Deletes stored replies to operators' requests that contain the organization's id. */
export async function forgetRepliesNaming(em: SqlEntityManager, organizationId: string): Promise<void> {
  await change(em, "delete from idempotency_keys where organization_id is null and position(convert_to(?, 'UTF8') in body) > 0", [
    organizationId,
  ]);
}

/** Who requested a purge, and why. */
export interface PurgeCauseRow {
  readonly reason: string | null;
  readonly requested_by_user_id: string | null;
}

/** Returns the queued or running purge of an organization, locked, or null when there is none. */
export function lockOpenPurge(em: SqlEntityManager, organizationId: string): Promise<(PurgeCauseRow & { readonly status: string }) | null> {
  return row<PurgeCauseRow & { status: string }>(
    em,
    "select status, reason, requested_by_user_id from purges where organization_id = ? and status in ('queued', 'running') for update",
    [organizationId],
  );
}

/** Marks the open purge of an organization as running. */
export async function writeRunning(em: SqlEntityManager, organizationId: string): Promise<void> {
  await change(
    em,
    `update purges set status = 'running', started_at = coalesce(started_at, clock_timestamp()), updated_at = clock_timestamp(), version = version + 1
      where organization_id = ? and status in ('queued', 'running')`,
    [organizationId],
  );
}

/** Deletes the data keys of an organization; returns how many. */
export function deleteDataKeys(em: SqlEntityManager, organizationId: string): Promise<number> {
  return change(em, 'delete from data_keys where organization_id = ?', [organizationId]);
}

/** Returns the running purge of an organization, locked, or null when there is none. */
export function lockRunningPurge(
  em: SqlEntityManager,
  organizationId: string,
): Promise<(PurgeCauseRow & { readonly id: string; readonly counts: Readonly<Record<string, number>> }) | null> {
  return row<PurgeCauseRow & { id: string; counts: Record<string, number> }>(
    em,
    "select id, counts, reason, requested_by_user_id from purges where organization_id = ? and status = 'running' for update",
    [organizationId],
  );
}

/** Locks an organization until the end of the transaction, so that no row of it is created. */
export async function holdOrganization(em: SqlEntityManager, organizationId: string): Promise<void> {
  await row(em, 'select id from organizations where id = ? for update', [organizationId]);
}

/** Turns an organization into its tombstone: a row without a name. */
export async function writeTombstone(em: SqlEntityManager, organizationId: string): Promise<void> {
  await change(
    em,
    `update organizations set name = 'Purged', slug = 'purged:' || id, timezone = 'UTC', suspended_reason = null, purged_at = now(),
            updated_at = now(), version = version + 1 where id = ?`,
    [organizationId],
  );
}

/** Marks a purge as done. */
export async function writeSucceeded(em: SqlEntityManager, purgeId: string): Promise<void> {
  await change(
    em,
    "update purges set status = 'succeeded', step = null, last_error = null, finished_at = clock_timestamp(), updated_at = clock_timestamp(), version = version + 1 where id = ?",
    [purgeId],
  );
}
