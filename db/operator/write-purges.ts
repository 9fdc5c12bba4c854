import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { purgeColumns, type PurgeRow } from './purges.ts';

/** Who requested a purge, and why. Null: it was due by time. */
export interface PurgeCause {
  readonly reason: string | null;
  readonly requestedByUserId: string | null;
}

/** The time of the statement, not of its transaction. */
const atOnce = sql<string>`clock_timestamp()`;

/** Returns the queued or running purge of an organization, or requeues and returns the failed one; null when there is none. */
export function reopenPurge(tx: TenantTransaction, organizationId: string): Promise<PurgeRow | null> {
  const open = query
    .selectFrom('purges')
    .select('id')
    .where('organizationId', '=', organizationId)
    .where('status', '<>', 'succeeded')
    .orderBy('id', 'desc')
    .limit(1);
  return row(
    tx.em,
    query
      .updateTable('purges')
      .set(({ eb }) => ({
        status: sql<PurgeRow['status']>`case status when 'failed' then 'queued' else status end`,
        lastError: null,
        finishedAt: null,
        updatedAt: atOnce,
        version: eb('version', '+', 1),
      }))
      .where('id', '=', open)
      .returning(purgeColumns),
  );
}

/** Stores a queued purge. */
export function insertPurge(tx: TenantTransaction, organizationId: string, cause: PurgeCause): Promise<PurgeRow | null> {
  const { reason, requestedByUserId } = cause;
  return row(tx.em, query.insertInto('purges').values({ id: newId(), organizationId, reason, requestedByUserId }).returning(purgeColumns));
}

/** Records the current step of a purge. */
export async function recordStep(em: SqlEntityManager, organizationId: string, step: string): Promise<void> {
  await change(
    em,
    query
      .updateTable('purges')
      .set({ step, updatedAt: atOnce })
      .where('organizationId', '=', organizationId)
      .where('status', '=', 'running')
      .where('step', 'is distinct from', step),
  );
}

/** Deactivates the users of an organization, revokes its keys and deletes its clients. */
export async function endAccess(em: SqlEntityManager, organizationId: string): Promise<void> {
  const now = sql<string>`now()`;
  await change(
    em,
    query
      .updateTable('users')
      .set(({ fn, ref }) => ({ isActive: false, deactivatedAt: fn.coalesce('deactivatedAt', now), updatedAt: ref('updatedAt') }))
      .where('organizationId', '=', organizationId)
      .where(({ ref }) => ref('isActive')),
  );
  await change(
    em,
    query
      .updateTable('service_keys')
      .set(({ ref }) => ({ revokedAt: now, updatedAt: ref('updatedAt') }))
      .where('organizationId', '=', organizationId)
      .where('revokedAt', 'is', null),
  );
  await change(
    em,
    query
      .updateTable('oauth_clients')
      .set(({ ref }) => ({ deletedAt: now, updatedAt: ref('updatedAt') }))
      .where('organizationId', '=', organizationId)
      .where('deletedAt', 'is', null),
  );
}

/** Marks a running purge as failed. */
export async function writeFailed(
  em: SqlEntityManager,
  organizationId: string,
  { step, error }: { readonly step: string; readonly error: string },
): Promise<void> {
  await change(
    em,
    query
      .updateTable('purges')
      .set(({ eb }) => ({
        status: 'failed',
        step,
        lastError: error,
        finishedAt: atOnce,
        updatedAt: atOnce,
        version: eb('version', '+', 1),
      }))
      .where('organizationId', '=', organizationId)
      .where('status', '=', 'running'),
  );
}

/** Adds deleted rows to the counts of their purge. Throws when it does not run. */
export async function countDeleted(
  em: SqlEntityManager,
  organizationId: string,
  { table, rows }: { readonly table: string; readonly rows: number },
): Promise<void> {
  const counts = sql<PurgeRow['counts']>`case when ${rows}::int > 0
    then jsonb_set(counts, array[${table}::text], to_jsonb(coalesce((counts ->> ${table}::text)::bigint, 0) + ${rows}::int)) else counts end`;
  const counted = await change(
    em,
    query
      .updateTable('purges')
      .set({ counts, step: table, updatedAt: atOnce })
      .where('organizationId', '=', organizationId)
      .where('status', '=', 'running'),
  );
  if (counted === 0) throw new Error('The purge does not run');
}

/** Deletes stored replies to operators' requests that contain the organization's id. */
export async function forgetRepliesNaming(em: SqlEntityManager, organizationId: string): Promise<void> {
  await change(
    em,
    query
      .deleteFrom('idempotency_keys')
      .where('organizationId', 'is', null)
      .where(sql<boolean>`position(convert_to(${organizationId}, 'UTF8') in body) > 0`),
  );
}

/** Returns the queued or running purge of an organization, locked, or null when there is none. */
export function lockOpenPurge(em: SqlEntityManager, organizationId: string) {
  return row(
    em,
    query
      .selectFrom('purges')
      .select(['status', 'reason', 'requestedByUserId'])
      .where('organizationId', '=', organizationId)
      .where('status', 'in', ['queued', 'running'])
      .forUpdate(),
  );
}

/** Marks the open purge of an organization as running. */
export async function writeRunning(em: SqlEntityManager, organizationId: string): Promise<void> {
  await change(
    em,
    query
      .updateTable('purges')
      .set(({ eb, fn }) => ({
        status: 'running',
        startedAt: fn.coalesce('startedAt', atOnce),
        updatedAt: atOnce,
        version: eb('version', '+', 1),
      }))
      .where('organizationId', '=', organizationId)
      .where('status', 'in', ['queued', 'running']),
  );
}

/** Deletes the data keys of an organization; returns how many. */
export function deleteDataKeys(em: SqlEntityManager, organizationId: string): Promise<number> {
  return change(em, query.deleteFrom('data_keys').where('organizationId', '=', organizationId));
}

/** Returns the running purge of an organization, locked, or null when there is none. */
export function lockRunningPurge(em: SqlEntityManager, organizationId: string) {
  return row(
    em,
    query
      .selectFrom('purges')
      .select(['id', 'counts', 'reason', 'requestedByUserId'])
      .where('organizationId', '=', organizationId)
      .where('status', '=', 'running')
      .forUpdate(),
  );
}

/** Locks an organization until the end of the transaction, so that no row of it is created. */
export async function holdOrganization(em: SqlEntityManager, organizationId: string): Promise<void> {
  await row(em, query.selectFrom('organizations').select('id').where('id', '=', organizationId).forUpdate());
}

/** Turns an organization into its tombstone: a row without a name. */
export async function writeTombstone(em: SqlEntityManager, organizationId: string): Promise<void> {
  await change(
    em,
    query
      .updateTable('organizations')
      .set(({ eb }) => ({
        name: 'Purged',
        slug: sql<string>`'purged:' || id`,
        timezone: 'UTC',
        suspendedReason: null,
        purgedAt: sql<string>`now()`,
        updatedAt: sql<string>`now()`,
        version: eb('version', '+', 1),
      }))
      .where('id', '=', organizationId),
  );
}

/** Marks a purge as done. */
export async function writeSucceeded(em: SqlEntityManager, purgeId: string): Promise<void> {
  await change(
    em,
    query
      .updateTable('purges')
      .set(({ eb }) => ({
        status: 'succeeded',
        step: null,
        lastError: null,
        finishedAt: atOnce,
        updatedAt: atOnce,
        version: eb('version', '+', 1),
      }))
      .where('id', '=', purgeId),
  );
}
