import type { Role, Scope } from '../../../workflows/contracts/access.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { Caller, TenantSettings } from '../../caller.ts';
import { fetchPage, holdsText } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { isUnbounded, organizationOf, workspacesAtFloor, workspacesOf } from '../../reach.ts';
import type { Predicate, Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A user as views show it. */
export interface UserRow {
  readonly id: string;
  readonly email: string;
  readonly full_name: string | null;
  readonly role: Role;
  readonly scope: Scope;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly is_active: boolean;
  readonly mfa_enabled: boolean;
  readonly last_login_at: Date | string | null;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

/** A user with the version that determines the ETag. */
export interface StoredUser extends UserRow {
  readonly version: number;
}

interface UserFilters {
  readonly q?: string;
  readonly role?: Role;
  readonly scope?: Scope;
  readonly workspace_id?: string;
  readonly is_active?: boolean;
}

/** Select list of a UserRow over `users` under the given alias. */
export function userColumns(alias: string): string {
  const own = [
    'id',
    'email',
    'full_name',
    'role',
    'scope',
    'organization_id',
    'workspace_id',
    'is_active',
    'last_login_at',
    'created_at',
    'updated_at',
  ];
  const hasFactor = `exists (select from totp_factors f where f.user_id = ${alias}.id and f.confirmed_at is not null) as mfa_enabled`;

  return [...own.map((column) => `${alias}.${column}`), hasFactor].join(', ');
}

/** Returns one user that the transaction's tenant sees: of its organization, or the caller's own. Null for any other. */
export async function readUser(tx: Pick<TenantTransaction, 'em' | 'tenant'>, id: string): Promise<UserRow | null> {
  const own = personOf(tx.tenant, 'u');
  return row<UserRow>(tx.em, `select ${userColumns('u')} from users u where u.id = ? and u.deleted_at is null and ${own.sql}`, [
    id,
    ...own.params,
  ]);
}

/** Returns which users a tenant sees (kind person), as a condition for `where`: the rule of the policies. */
export function personOf(tenant: TenantSettings, alias: string): Predicate {
  if (tenant.isOperator) return { sql: 'true', params: [] };
  return { sql: `(${alias}.organization_id = ?::uuid or ${alias}.id = ?::uuid)`, params: [tenant.organizationId, tenant.userId] };
}

/**
 * Returns those of the given users whom a caller sees, as `organization/user`: users of the whole organization, or with home or grant in a workspace that the
 * caller sees. Each is given with the organization whose row names it.
 */
export async function usersSeen(
  ctx: Scoped,
  named: readonly { readonly userId: string; readonly organizationId: string }[],
): Promise<ReadonlySet<string>> {
  const workspaceIds = workspacesOf(ctx.caller);
  const found = await rows<{ id: string; organization_id: string }>(
    ctx.em,
    `select distinct u.id, u.organization_id from users u join unnest(?::uuid[], ?::uuid[]) as n (id, organization_id) on n.id = u.id and n.organization_id = u.organization_id
      where u.deleted_at is null
        and (?::boolean or u.scope = 'organization' or u.workspace_id = any(?::uuid[])
          or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = any(?::uuid[])))`,
    [
      named.map(({ userId }) => userId),
      named.map(({ organizationId }) => organizationId),
      workspaceIds === null,
      workspaceIds ?? [],
      workspaceIds ?? [],
    ],
  );
  return new Set(found.map((user) => `${user.organization_id}/${user.id}`));
}

/** Select list of a StoredUser over `users u`. */
export const storedUserColumns = `${userColumns('u')}, u.version`;

/**
 * Returns which users a caller sees, as a condition over `users u`: the caller's own; all users of the organization for callers of the whole organization,
 * otherwise users of the whole organization and those with home or grant in one of `workspaceIds`. Operators see all.
 */
export function usersSeenBy(caller: Caller, workspaceIds: readonly string[] | null = workspacesOf(caller)): Predicate {
  if (isUnbounded(caller)) return { sql: 'u.deleted_at is null', params: [] };
  const organizationId = organizationOf(caller);

  if (workspaceIds === null) {
    return {
      sql: '(u.deleted_at is null and (u.organization_id = ?::uuid or u.id = ?::uuid))',
      params: [organizationId, caller.userId],
    };
  }
  return {
    sql: `(u.deleted_at is null and (u.id = ?::uuid or (u.organization_id = ?::uuid and (u.scope = 'organization' or u.workspace_id = any(?::uuid[])
      or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = any(?::uuid[]))))))`,
    params: [caller.userId, organizationId, workspaceIds, workspaceIds],
  };
}

/** Returns one user that the caller sees. Throws 404. */
export async function seeUser(ctx: Scoped, id: string): Promise<StoredUser> {
  const visible = usersSeenBy(ctx.caller);
  const found = await row<StoredUser>(ctx.em, `select ${storedUserColumns} from users u where u.id = ? and ${visible.sql}`, [
    id,
    ...visible.params,
  ]);
  if (!found) throw fail('not_found');
  return found;
}

/** Returns the users that the caller sees where its rank reaches the floor, newest first. */
export function listUserRows(
  ctx: Scoped & { readonly floor: Role | null },
  filters: UserFilters,
  page: PageRequest,
): Promise<Page<UserRow>> {
  const visible = usersSeenBy(ctx.caller, workspacesAtFloor(ctx.caller, ctx.floor));
  const where = [visible.sql];
  const params: unknown[] = [...visible.params];
  const narrow = (sql: string, value: unknown) => {
    where.push(sql);
    params.push(value);
  };

  if (filters.q !== undefined) narrow(holdsText('u.email', 'u.full_name'), filters.q);
  if (filters.role !== undefined) narrow('u.role = ?', filters.role);
  if (filters.scope !== undefined) narrow('u.scope = ?', filters.scope);
  if (filters.workspace_id !== undefined) narrow('u.workspace_id = ?::uuid', filters.workspace_id);
  if (filters.is_active !== undefined) narrow('u.is_active = ?', filters.is_active);

  return fetchPage<UserRow>(ctx.em, {
    select: userColumns('u'),
    from: 'users u',
    where: where.join(' and '),
    params,
    order: [{ column: 'u.id', type: 'uuid', descending: true }],
    page,
  });
}
