import { sql } from 'kysely';
import { now } from '../expressions.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ServerFacts } from './revisions.ts';

/** What a sync records is no change of the toolkit: this keeps `updatedAt`, which an update would otherwise set. */
const notedOnToolkit = query.updateTable('toolkits').set(({ ref }) => ({ updatedAt: ref('updatedAt') }));

/** Locks a toolkit; returns false when it does not exist. */
export async function lockToolkit(tx: TenantTransaction, toolkitId: string): Promise<boolean> {
  const there = query.selectFrom('toolkits as k').select('k.id').where('k.id', '=', toolkitId).where('k.deletedAt', 'is', null);
  return (await row(tx.em, there.forUpdate())) !== null;
}

/**
 * Locks an active MCP toolkit, and returns whether its last sync was begun less than a minute ago or is still under way. Null when there is no such toolkit.
 */
export async function lockSyncedToolkit(tx: TenantTransaction, toolkitId: string) {
  return row(
    tx.em,
    query
      .selectFrom('toolkits as k')
      .select(({ exists, selectFrom }) =>
        exists(
          selectFrom('toolkit_revisions as v')
            .select('v.id')
            .whereRef('v.toolkitId', '=', 'k.id')
            .where(({ and, eb, or }) =>
              or([
                eb('v.state', '=', 'syncing'),
                and([eb('v.origin', '=', 'sync'), eb('v.createdAt', '>', sql<string>`now() - interval '1 minute'`)]),
              ]),
            ),
        ).as('isRecent'),
      )
      .where('k.id', '=', toolkitId)
      .where('k.kind', '=', 'mcp')
      .where('k.isActive', '=', true)
      .where('k.deletedAt', 'is', null)
      .forUpdate('k'),
  );
}

/** Schedules the next sync in a minute, unless it is due before. */
export async function syncWithinAMinute(tx: TenantTransaction, toolkitId: string): Promise<void> {
  await change(
    tx.em,
    notedOnToolkit
      .set(({ ref }) => ({
        nextSyncAt: sql<string>`least(coalesce(${ref('nextSyncAt')}, 'infinity'), now() + interval '1 minute')`,
      }))
      .where('id', '=', toolkitId),
  );
}

/** After a sync, sets when the next one is due, if the toolkit has an interval. A sync requested meanwhile stays. */
export async function setNextSync(tx: TenantTransaction, toolkitId: string): Promise<void> {
  await change(
    tx.em,
    notedOnToolkit
      .set(({ ref }) => ({
        nextSyncAt: sql<string>`now() + make_interval(secs => (${ref('config')} ->> 'sync_interval_s')::float8)`,
      }))
      .where('id', '=', toolkitId)
      .where('deletedAt', 'is', null)
      .where(({ and, eb, or, ref }) =>
        or([
          eb('nextSyncAt', '<=', now),
          and([eb('nextSyncAt', 'is', null), sql<boolean>`${ref('config')} ->> 'sync_interval_s' is not null`]),
        ]),
      ),
  );
}

/** Stores the result of a check of a toolkit's server; without `facts`, the earlier facts stay. */
export async function recordCheck(
  tx: TenantTransaction,
  toolkitId: string,
  { reachable, error, facts }: { readonly reachable: boolean; readonly error: string | null; readonly facts: ServerFacts | null },
): Promise<void> {
  await change(tx.em, notedOnToolkit.set({ reachable, checkedAt: now, lastError: error, ...facts }).where('id', '=', toolkitId));
}
