import { fail } from '../../workflows/contracts/failure.ts';
import type { Role } from '../../workflows/contracts/access.ts';
import { fetchPage } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { isUnbounded, organizationOf, workspacesOf } from '../reach.ts';
import { visibleTo, type Predicate, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { Impersonation } from './impersonation.entity.ts';

/** An impersonation as views show it; an expired one counts as ended at its expiry. */
export interface ImpersonationRow {
  readonly id: string;
  readonly operator_user_id: string;
  readonly target_user_id: string;
  readonly organization_id: string;
  readonly workspace_id: string | null;
  readonly reason: string;
  readonly started_at: Date | string;
  readonly expires_at: Date | string;
  readonly ended_at: Date | string | null;
  readonly ended_by_user_id: string | null;
}

export interface ImpersonationFilters {
  readonly organization_id?: string;
  readonly operator_user_id?: string;
  readonly target_user_id?: string;
  readonly active?: boolean;
  readonly from?: string;
  readonly to?: string;
}

export interface ImpersonationTarget {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

export const columns = `i.id, i.operator_user_id, i.target_user_id, i.organization_id, i.workspace_id, i.reason, i.started_at, i.expires_at,
  coalesce(i.ended_at, case when i.expires_at <= now() then i.expires_at end) as ended_at, i.ended_by_user_id`;
const open = '(i.ended_at is null and i.expires_at > now())';

/** Returns a user that the operator sees, locked against changes, or null when there is none. */
export function findTarget(
  ctx: Scoped,
  userId: string,
): Promise<{
  readonly role: Role;
  readonly is_active: boolean;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
} | null> {
  const own = usersOf(ctx);
  return row<{ role: Role; is_active: boolean; organization_id: string | null; workspace_id: string | null }>(
    ctx.em,
    `select u.role, u.is_active, u.organization_id, u.workspace_id from users u where u.id = ? and u.deleted_at is null and ${own.sql} for share of u`,
    [userId, ...own.params],
  );
}

/** Returns the impersonations that the operator sees, newest first. */
export function listImpersonationRows(ctx: Scoped, filters: ImpersonationFilters, page: PageRequest): Promise<Page<ImpersonationRow>> {
  const visible = visibleTo(ctx, Impersonation, 'i');
  const where = [visible.sql];
  const params: unknown[] = [...visible.params];
  const add = (sql: string, value: unknown) => {
    if (value === undefined) return;
    where.push(sql);
    params.push(value);
  };
  add('i.organization_id = ?', filters.organization_id);
  add('i.operator_user_id = ?', filters.operator_user_id);
  add('i.target_user_id = ?', filters.target_user_id);
  add('i.started_at >= ?::timestamptz', filters.from);
  add('i.started_at < ?::timestamptz', filters.to);
  if (filters.active !== undefined) where.push(filters.active ? open : `not ${open}`);

  return fetchPage<ImpersonationRow>(ctx.em, {
    select: columns,
    from: 'impersonations i',
    where: where.join(' and '),
    params,
    order: [{ column: 'i.id', type: 'uuid', descending: true }],
    page,
  });
}

/** Locks an impersonation that the operator sees. Throws 404. */
export async function lockImpersonation(ctx: Scoped, id: string): Promise<ImpersonationRow> {
  const visible = visibleTo(ctx, Impersonation, 'i');
  const found = await row<ImpersonationRow>(
    ctx.em,
    `select ${columns} from impersonations i where i.id = ? and ${visible.sql} for no key update`,
    [id, ...visible.params],
  );
  if (!found) throw fail('not_found');
  return found;
}

/** Users that an operator may work as: all, or with X-View-* those with home or grant in that organization or workspace. */
function usersOf(ctx: Scoped): Predicate {
  const { caller } = ctx;
  if (isUnbounded(caller)) return { sql: 'true', params: [] };
  const workspaceIds = workspacesOf(caller);
  const inOrganization = 'u.organization_id = ?::uuid';
  if (workspaceIds === null) return { sql: inOrganization, params: [organizationOf(caller)] };
  return {
    sql: `(${inOrganization} and (u.workspace_id = any(?::uuid[])
      or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = any(?::uuid[]))))`,
    params: [organizationOf(caller), workspaceIds, workspaceIds],
  };
}
