import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ServerFacts, ToolkitHome } from './revisions.ts';

/** Locks a toolkit that is there. False: it is not. */
export async function lockToolkit(tx: TenantTransaction, toolkitId: string): Promise<boolean> {
  const locked = await row(tx.em, 'select id from toolkits where id = ? and deleted_at is null for update', [toolkitId]);
  return locked !== null;
}

/**
 * Locks an MCP toolkit that is active, and tells whether its last sync was begun less than a minute ago or is still under way. Null when there is no
 * such toolkit.
 */
export async function lockSyncedToolkit(tx: TenantTransaction, toolkitId: string): Promise<{ readonly is_recent: boolean } | null> {
  return row<{ is_recent: boolean }>(
    tx.em,
    `select exists (select 1 from toolkit_revisions v where v.toolkit_id = k.id and (v.state = 'syncing'
       or (v.origin = 'sync' and v.created_at > now() - interval '1 minute'))) as is_recent
       from toolkits k where k.id = ? and k.kind = 'mcp' and k.is_active and k.deleted_at is null for update of k`,
    [toolkitId],
  );
}

/** Has the next sync begin in a minute, unless it is due before. */
export async function syncWithinAMinute(tx: TenantTransaction, toolkitId: string): Promise<void> {
  await change(
    tx.em,
    `update toolkits set next_sync_at = least(coalesce(next_sync_at, 'infinity'), now() + interval '1 minute') where id = ?`,
    [toolkitId],
  );
}

/** After a sync: when the next one is due, if it has an interval. One that was asked for meanwhile stays. */
export async function setNextSync(tx: TenantTransaction, id: string): Promise<void> {
  await change(
    tx.em,
    `update toolkits set next_sync_at = now() + make_interval(secs => (config ->> 'sync_interval_s')::float8)
      where id = ? and deleted_at is null and (next_sync_at <= now() or (next_sync_at is null and config ->> 'sync_interval_s' is not null))`,
    [id],
  );
}

/** Toolkits whose next sync is due, oldest first. Sweeper's pool. */
export async function dueSyncs(em: SqlEntityManager, limit: number): Promise<ToolkitHome[]> {
  const found = await rows<{ id: string; organization_id: string; workspace_id: string | null }>(
    em,
    `select k.id, k.organization_id, k.workspace_id from toolkits k join organizations o on o.id = k.organization_id
       left join workspaces w on w.id = k.workspace_id
      where k.next_sync_at <= now() and k.deleted_at is null and k.kind = 'mcp' and k.is_active and o.status = 'active'
        and coalesce(w.is_active, true) order by k.next_sync_at limit ?`,
    [limit],
  );
  return found.map((due) => ({ id: due.id, organizationId: due.organization_id, workspaceId: due.workspace_id }));
}

/** Keeps what a look at the server of a toolkit found; without `facts` what it told before stays. */
export async function noteLook(
  tx: TenantTransaction,
  toolkitId: string,
  { reachable, error, facts }: { readonly reachable: boolean; readonly error: string | null; readonly facts: ServerFacts | null },
): Promise<void> {
  if (facts === null) {
    await change(tx.em, 'update toolkits set reachable = ?, checked_at = now(), last_error = ? where id = ?', [
      reachable,
      error,
      toolkitId,
    ]);
    return;
  }
  await change(
    tx.em,
    'update toolkits set reachable = ?, checked_at = now(), server = ?::jsonb, protocol_version = ?, last_error = ? where id = ?',
    [reachable, facts.server === null ? null : JSON.stringify(facts.server), facts.protocolVersion, error, toolkitId],
  );
}
