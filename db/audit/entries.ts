import type { auditActorKinds, auditOutcomes } from './audit-entry.entity.ts';
import type { AuditAction } from './audit.ts';
import type { Role } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Page, PageRequest } from '../page.ts';
import { fetchPage } from '../page-query.ts';
import { isUnbounded, organizationOf, refuseRank, workspacesAtFloor, workspacesOf } from '../reach.ts';
import type { Changing, Predicate } from '../scope.ts';
import { row } from '../sql.ts';

/** An entry as it is read: as it was written, except for a user's label, which is the current one. */
export interface AuditEntryRow {
  readonly id: string;
  readonly created_at: Date | string;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly actor_kind: (typeof auditActorKinds)[number];
  readonly actor_id: string | null;
  readonly actor_role: Role | null;
  readonly acting_user_id: string | null;
  readonly impersonation_id: string | null;
  readonly action: AuditAction;
  readonly resource_type: string;
  readonly resource_id: string | null;
  readonly resource_label: string | null;
  readonly outcome: (typeof auditOutcomes)[number];
  readonly changes: Record<string, unknown>;
  readonly operation_id: string | null;
  readonly correlation_id: string | null;
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly seq: number | null;
  readonly is_sealed: boolean;
}

export interface AuditFilters {
  /** The credential's holder, or the user as whom they acted. */
  readonly actor_id?: string;
  readonly action?: AuditAction;
  readonly resource_type?: string;
  readonly from?: string;
  readonly to?: string;
}

type Reading = Pick<Changing, 'caller' | 'em' | 'floor'>;

/** Returns the entries that the caller may read, newest first. */
export function listAuditRows(ctx: Reading, filters: AuditFilters, page: PageRequest): Promise<Page<AuditEntryRow>> {
  const visible = visibleEntries(ctx, workspacesAtFloor(ctx.caller, ctx.floor));
  const where = [visible.sql];
  const params: unknown[] = [...visible.params];
  const narrow = (sql: string, ...values: unknown[]): void => {
    where.push(sql);
    params.push(...values);
  };
  if (filters.actor_id !== undefined) narrow('(e.actor_id = ?::uuid or e.acting_user_id = ?::uuid)', filters.actor_id, filters.actor_id);
  if (filters.action !== undefined) narrow('e.action = ?', filters.action);
  if (filters.resource_type !== undefined) narrow('e.resource_type = ?', filters.resource_type);
  if (filters.from !== undefined) narrow('e.created_at >= ?::timestamptz', filters.from);
  if (filters.to !== undefined) narrow('e.created_at < ?::timestamptz', filters.to);

  const label = labelOf(ctx);
  return fetchPage<AuditEntryRow>(ctx.em, {
    select: `${columns}, ${label.sql}`,
    selectParams: label.params,
    from: 'audit_entries e',
    where: where.join(' and '),
    params,
    order: [
      { column: 'e.created_at', type: 'timestamptz', descending: true },
      { column: 'e.id', type: 'uuid', descending: true },
    ],
    page,
  });
}

/** Returns one entry. Throws 404, or 403 where the caller's rank in the entry's workspace is below the floor. */
export async function readAuditRow(ctx: Reading, entryId: string): Promise<AuditEntryRow> {
  const visible = visibleEntries(ctx, workspacesOf(ctx.caller));
  const label = labelOf(ctx);
  const found = await row<AuditEntryRow>(ctx.em, `select ${columns}, ${label.sql} from audit_entries e where e.id = ? and ${visible.sql}`, [
    ...label.params,
    entryId,
    ...visible.params,
  ]);
  if (!found) throw fail('not_found');
  if (found.workspace_id !== null) refuseRank(ctx.caller, found.workspace_id, ctx.floor);
  return found;
}

const columns = `e.id, e.created_at, e.organization_id, e.workspace_id, e.actor_kind, e.actor_id, e.actor_role, e.acting_user_id,
  e.impersonation_id, e.action, e.resource_type, e.resource_id, e.outcome, e.changes, e.operation_id, e.correlation_id, e.ip, e.user_agent,
  e.seq, e.seal_no is not null as is_sealed`;

/**
 * By workspace; entries without one (of the organization as a whole) only for callers who see all of it, which the policy does not check. An operator without
 * X-View-* reads every chain.
 */
function visibleEntries({ caller }: Reading, workspaceIds: readonly string[] | null): Predicate {
  if (isUnbounded(caller)) return { sql: 'true', params: [] };
  const organizationId = organizationOf(caller);
  if (workspaceIds === null) return { sql: 'e.organization_id = ?::uuid', params: [organizationId] };

  const [only, second] = workspaceIds;
  // A single workspace by equality: then its index also provides the order.
  if (only !== undefined && second === undefined)
    return { sql: '(e.workspace_id = ?::uuid and e.organization_id = ?::uuid)', params: [only, organizationId] };
  return { sql: '(e.organization_id = ?::uuid and e.workspace_id = any(?::uuid[]))', params: [organizationId, workspaceIds] };
}

/**
 * No entry contains a person's name, since entries outlive people: it is looked up when an entry is read, for users that the caller sees, and is null once they
 * are deleted.
 */
function labelOf(ctx: Reading): Predicate {
  const visible = visibleUsers(ctx);
  return {
    sql: `case when e.resource_type not in ('user', 'workspace_member') then e.resource_label
      when e.resource_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (
        select coalesce(u.full_name, u.email) from users u where u.id = e.resource_id::uuid and u.deleted_at is null and ${visible.sql})
      end as resource_label`,
    params: visible.params,
  };
}

function visibleUsers({ caller }: Reading): Predicate {
  if (isUnbounded(caller)) return { sql: 'true', params: [] };
  const organizationId = organizationOf(caller);
  const workspaceIds = workspacesOf(caller);
  if (workspaceIds === null) return { sql: 'u.organization_id = ?::uuid', params: [organizationId] };
  return {
    sql: `(u.organization_id = ?::uuid and (u.scope = 'organization' or u.workspace_id = any(?::uuid[])
      or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = any(?::uuid[]))))`,
    params: [organizationId, workspaceIds, workspaceIds],
  };
}
