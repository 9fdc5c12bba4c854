import type { InstallationState } from '../../../workflows/contracts/review/pull-requests.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { QueuedEvent } from '../pulls/pulls.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';

type Tx = Pick<TenantTransaction, 'em'>;

/** What the host reports about a binding. */
export interface BindingEventState {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly installationState: InstallationState;
  readonly repoFullName: string;
}

/** Returns a binding, locked, even if it is deleted; null when there is none in the transaction's tenant. */
export function liveBinding(
  tx: Tx,
  bindingId: string,
): Promise<(BindingEventState & { readonly id: string; readonly repoId: number; readonly isReviewable: boolean }) | null> {
  return row(
    tx.em,
    `select b.id, b.organization_id as "organizationId", b.workspace_id as "workspaceId", b.installation_state as "installationState",
            b.repo_full_name as "repoFullName", b.repo_id::float8 as "repoId", b.deleted_at is null and b.is_active as "isReviewable"
       from repo_bindings b where b.id = ? for update`,
    [bindingId],
  );
}

/** Returns queued events of a binding that concern none of its pull requests, in order. */
export function queuedBindingEvents(tx: Tx, bindingId: string, limit: number): Promise<QueuedEvent[]> {
  return rows<QueuedEvent>(
    tx.em,
    `select e.id, e.event, e.action, e.facts from review_events e
      where e.binding_id = ? and e.pull_number is null and e.state = 'queued' order by e.id limit ?`,
    [bindingId, limit],
  );
}

/** Stores what the host reports. A name that another binding of the workspace has by now stays with that one. */
export async function storeBindingState(
  tx: Tx,
  bindingId: string,
  { installationState, repoFullName, repoKey }: BindingEventState & { readonly repoKey: string },
): Promise<void> {
  await change(
    tx.em,
    `update repo_bindings b set installation_state = ?, version = version + 1, updated_at = now(),
            repo_full_name = case when t.is_taken then b.repo_full_name else ? end, repo_key = case when t.is_taken then b.repo_key else ? end
       from (select exists (select from repo_bindings o join repo_bindings b on b.id = ?::uuid
               where o.workspace_id = b.workspace_id and o.id <> b.id and o.repo_key = ? and o.deleted_at is null) as is_taken) t
      where b.id = ?::uuid`,
    [installationState, repoFullName, repoKey, bindingId, repoKey, bindingId],
  );
}

/** Returns the numbers of the pull requests of a binding that have something due or a run at work. */
export async function openPulls(tx: Tx, bindingId: string, limit: number): Promise<number[]> {
  const found = await rows<{ pull_number: number }>(
    tx.em,
    `select p.pull_number from review_pull_requests p
      where p.binding_id = ? and (p.due_at is not null or exists (
        select from runs r where r.review_pull_request_id = p.id and r.status in ('queued', 'running', 'waiting', 'cancelling')))
      order by p.pull_number limit ?`,
    [bindingId, limit],
  );
  return found.map((pull) => pull.pull_number);
}

/** Deletes at most `limit` events older than 90 days; returns how many. Sweeper's pool. */
export function eraseReviewEvents(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    "delete from review_events where ctid = any (array(select x.ctid from review_events x where x.created_at < now() - interval '90 days' limit ?))",
    [limit],
  );
}
