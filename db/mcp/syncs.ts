import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { syncOpened } from '../../workflows/contracts/toolkit-sync.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import type { ActorRef } from '../actor-ref.ts';
import { addOutbox } from '../outbox.ts';
import { openSync, type OpenedRevision } from '../toolkits/revisions.ts';
import { change, row, rows } from '../sql.ts';

import type { TenantTransaction } from '../tenant-transaction.ts';

export interface SyncedToolkit {
  readonly id: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

export interface SyncReason {
  readonly note: string | null;
  readonly createdBy: ActorRef;
}

/** Opens a sync and starts its workflow. 409 `sync_running` while another is under way. */
export async function startSync(
  tx: TenantTransaction,
  toolkit: SyncedToolkit & { readonly organizationId: string },
  reason: SyncReason,
): Promise<OpenedRevision> {
  const revision = await openSync(tx, toolkit, reason);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'toolkitSync',
      workflowId: workflowIds.sync(toolkit.id),
      taskQueue: taskQueues.runs,
      args: [{ toolkitId: toolkit.id }],
      organizationId: toolkit.organizationId,
      workspaceId: toolkit.workspaceId,
      correlationId: tx.correlationId,
      reuse: 'allow_duplicate',
      signal: syncOpened,
      priority: 3,
      searchAttributes: {},
    },
    { dedupeKey: `sync:${revision.id}` },
  );
  return revision;
}

/**
 * What a server's news or the clock ask for: a sync now, or, when the last one was begun less than a minute ago or is still under way, as
 * soon as a minute has passed.
 */
export async function requestSync(tx: TenantTransaction, toolkit: SyncedToolkit, reason: SyncReason): Promise<void> {
  const { organizationId } = toolkit;
  if (organizationId === null) return;
  const held = await row<{ is_recent: boolean }>(
    tx.em,
    `select exists (select 1 from toolkit_revisions v where v.toolkit_id = k.id and (v.state = 'syncing'
       or (v.origin = 'sync' and v.created_at > now() - interval '1 minute'))) as is_recent
       from toolkits k where k.id = ? and k.kind = 'mcp' and k.is_active and k.deleted_at is null for update of k`,
    [toolkit.id],
  );
  if (!held) return;
  if (!held.is_recent) return void (await startSync(tx, { ...toolkit, organizationId }, reason));
  await change(
    tx.em,
    `update toolkits set next_sync_at = least(coalesce(next_sync_at, 'infinity'), now() + interval '1 minute') where id = ?`,
    [toolkit.id],
  );
}

/** Toolkits whose next sync is due, oldest first. Sweeper's pool. */
export async function dueSyncs(em: SqlEntityManager, limit: number): Promise<SyncedToolkit[]> {
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

/** A revision whose sync is under way. */
export interface OpenSyncRow {
  readonly id: string;
  readonly created_by: ActorRef;
}

/** The open sync of a toolkit: there is one at most. */
export function readOpenSync(tx: TenantTransaction, toolkitId: string): Promise<OpenSyncRow | null> {
  return row<OpenSyncRow>(tx.em, "select id, created_by from toolkit_revisions where toolkit_id = ? and state = 'syncing'", [toolkitId]);
}
