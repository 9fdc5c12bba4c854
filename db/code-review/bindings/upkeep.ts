import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { rows } from '../../sql.ts';

/** A workspace whose own App reviews repositories. Sweeper's pool, like everything here. */
export interface AppWorkspace {
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Returns workspaces that reach a repository through their own App, and accept its deliveries. */
export function workspacesWithApps(em: SqlEntityManager, after: string | null, limit: number): Promise<AppWorkspace[]> {
  return rows<AppWorkspace>(
    em,
    `select w.organization_id as "organizationId", w.id as "workspaceId" from workspaces w join organizations o on o.id = w.organization_id
      where w.is_active and o.status = 'active' and w.id > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')
        and exists (select from repo_bindings b where b.workspace_id = w.id and b.app_kind = 'workspace' and b.is_active and b.deleted_at is null)
        and exists (select from webhook_endpoints e where e.workspace_id = w.id and e.event_kind = 'github' and e.is_active and e.deleted_at is null)
      order by w.id limit ?`,
    [after, limit],
  );
}

/** Returns those of the host's deliveries that one of our endpoints has accepted in the last days; `workspaceId` null: in any workspace. */
export async function takenDeliveries(
  em: SqlEntityManager,
  guids: readonly string[],
  workspaceId: string | null,
): Promise<ReadonlySet<string>> {
  if (guids.length === 0) return new Set();
  const found = await rows<{ guid: string }>(
    em,
    `select d.delivery_key as guid from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id
      where e.event_kind = 'github' and (?::uuid is null or e.workspace_id = ?::uuid) and d.status = 'published'
        and d.received_at > now() - interval '4 days' and d.delivery_key = any (?::text[])`,
    [workspaceId, workspaceId, [...guids]],
  );
  return new Set(found.map(({ guid }) => guid));
}

/** A pull request that has work to do. */
export interface LostPull {
  readonly bindingId: string;
  readonly pullNumber: number;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Returns pull requests with an event or command that has waited for an hour, or a review due for as long, that no workflow has taken. */
export function lostPulls(em: SqlEntityManager, limit: number): Promise<LostPull[]> {
  return rows<LostPull>(
    em,
    `select distinct x.binding_id as "bindingId", x.pull_number as "pullNumber", x.organization_id as "organizationId", x.workspace_id as "workspaceId" from (
       select e.binding_id, e.pull_number, e.organization_id, e.workspace_id from review_events e
        where e.state = 'queued' and e.pull_number is not null and e.created_at < now() - interval '1 hour'
       union all
       select p.binding_id, p.pull_number, p.organization_id, p.workspace_id from review_pull_requests p where p.due_at < now() - interval '1 hour'
       union all
       select p.binding_id, p.pull_number, p.organization_id, p.workspace_id from review_commands c join review_pull_requests p on p.id = c.pull_request_id
        where c.state = 'queued' and c.created_at < now() - interval '1 hour') x
      limit ?`,
    [limit],
  );
}

/** Returns bindings with a report that has waited for an hour. */
export function lostBindings(
  em: SqlEntityManager,
  limit: number,
): Promise<{ readonly id: string; readonly organizationId: string; readonly workspaceId: string }[]> {
  return rows(
    em,
    `select distinct e.binding_id as id, e.organization_id as "organizationId", e.workspace_id as "workspaceId" from review_events e
      where e.state = 'queued' and e.pull_number is null and e.created_at < now() - interval '1 hour' limit ?`,
    [limit],
  );
}
