import { type Expression, sql } from 'kysely';
import type { Role, Scope } from '../../../workflows/contracts/access.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { Caller, TenantSettings } from '../../caller.ts';
import { Condition } from '../../condition.ts';
import { contains, preparedList } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { isUnbounded, organizationOf, workspacesAtFloor, workspacesOf } from '../../caller-scope.ts';
import type { Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A user as views show it. */
export type UserRow = NonNullable<Awaited<ReturnType<typeof readUser>>>;

/** A user with the version that determines the ETag. */
export type StoredUser = Awaited<ReturnType<typeof seeUser>>;

interface UserFilters {
  readonly q?: string;
  readonly role?: Role;
  readonly scope?: Scope;
  readonly workspaceId?: string;
  readonly isActive?: boolean;
}

/** The columns of `users` that views show; `hasFactor` completes them. */
export const userColumns = [
  'id',
  'email',
  'fullName',
  'role',
  'scope',
  'organizationId',
  'workspaceId',
  'isActive',
  'lastLoginAt',
  'createdAt',
  'updatedAt',
] as const;

/** The same over `users as u`, beside other tables. */
export const userColumnsOfU = userColumns.map((name) => `u.${name}` as const);

/** Whether a user has a confirmed second factor. */
export function hasFactor(userId: Expression<string>) {
  const confirmed = query
    .selectFrom('totp_factors as f')
    .select('f.userId')
    .where('f.userId', '=', userId)
    .where('f.confirmedAt', 'is not', null);
  return sql<boolean>`exists ${confirmed}`;
}

const userById = prepared(({ id, own }: ParametersOf<{ readonly id: string; readonly own: Condition }>) =>
  query
    .selectFrom('users as u')
    .select(userColumns)
    .select(({ ref }) => hasFactor(ref('u.id')).as('mfaEnabled'))
    .where('u.id', '=', id)
    .where('u.deletedAt', 'is', null)
    .where(own),
);

/** Returns one user that the transaction's tenant sees: of its organization, or the caller's own. Null for any other. */
export async function readUser(tx: Pick<TenantTransaction, 'em' | 'tenant'>, id: string) {
  return row(tx.em, userById({ id, own: personOf(tx.tenant, 'u') }));
}

/** Returns which users a tenant sees (kind person), as a condition for `where`: the rule of the policies. */
export function personOf(tenant: TenantSettings, alias: string): Condition {
  if (tenant.isOperator) return new Condition('true');
  return new Condition(`(${alias}.organization_id = ?::uuid or ${alias}.id = ?::uuid)`, [tenant.organizationId, tenant.userId]);
}

interface NamedUsers {
  readonly userIds: readonly string[];
  readonly organizationIds: readonly string[];
  /** Undefined: the caller sees all of them. */
  readonly workspaceIds: readonly string[] | undefined;
}

const usersAmong = prepared(({ userIds, organizationIds, workspaceIds }: ParametersOf<NamedUsers>) => {
  const named = query
    .selectFrom('users as u')
    .innerJoin(
      sql<{ id: string; organizationId: string }>`unnest(${userIds}::uuid[], ${organizationIds}::uuid[])`.as<'n'>(
        sql`n (id, organization_id)`,
      ),
      (join) => join.onRef('n.id', '=', 'u.id').onRef('n.organizationId', '=', 'u.organizationId'),
    )
    .distinct()
    .select(['u.id', 'u.organizationId'])
    .where('u.deletedAt', 'is', null);
  return workspaceIds
    ? named.where(
        sql<boolean>`(u.scope = 'organization' or u.workspace_id = any(${workspaceIds}::uuid[])
          or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = any(${workspaceIds}::uuid[])))`,
      )
    : named;
});

/**
 * Returns those of the given users whom a caller sees, as `organization/user`: users of the whole organization, or with home or grant in a workspace that the
 * caller sees. Each is given with the organization whose row names it.
 */
export async function usersSeen(
  ctx: Scoped,
  named: readonly { readonly userId: string; readonly organizationId: string }[],
): Promise<ReadonlySet<string>> {
  const userIds = named.map(({ userId }) => userId);
  const organizationIds = named.map(({ organizationId }) => organizationId);
  const found = await rows(ctx.em, usersAmong({ userIds, organizationIds, workspaceIds: workspacesOf(ctx.caller) ?? undefined }));
  return new Set(found.map((user) => `${user.organizationId}/${user.id}`));
}

/**
 * Returns which users a caller sees, as a condition over `users u`: the caller's own; all users of the organization for callers of the whole organization,
 * otherwise users of the whole organization and those with home or grant in one of `workspaceIds`. Operators see all.
 */
export function usersSeenBy(caller: Caller, workspaceIds: readonly string[] | null = workspacesOf(caller)): Condition {
  if (isUnbounded(caller)) return new Condition('u.deleted_at is null');
  const organizationId = organizationOf(caller);

  if (workspaceIds === null) {
    return new Condition('(u.deleted_at is null and (u.organization_id = ?::uuid or u.id = ?::uuid))', [organizationId, caller.userId]);
  }
  return new Condition(
    `(u.deleted_at is null and (u.id = ?::uuid or (u.organization_id = ?::uuid and (u.scope = 'organization' or u.workspace_id = any(?::uuid[])
      or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = any(?::uuid[]))))))`,
    [caller.userId, organizationId, workspaceIds, workspaceIds],
  );
}

const visibleUser = prepared(({ id, visible }: ParametersOf<{ readonly id: string; readonly visible: Condition }>) =>
  query
    .selectFrom('users as u')
    .select(userColumns)
    .select(({ ref }) => [hasFactor(ref('u.id')).as('mfaEnabled'), 'u.version'])
    .where('u.id', '=', id)
    .where(visible),
);

/** Returns one user that the caller sees. Throws 404. */
export async function seeUser(ctx: Scoped, id: string) {
  const found = await row(ctx.em, visibleUser({ id, visible: usersSeenBy(ctx.caller) }));
  if (!found) throw fail('not_found');
  return found;
}

const listed = preparedList(
  ({ visible, q, role, scope, workspaceId, isActive }: ParametersOf<UserFilters & { readonly visible: Condition }>) => {
    let users = query
      .selectFrom('users as u')
      .select(userColumns)
      .select(({ ref }) => hasFactor(ref('u.id')).as('mfaEnabled'))
      .where(visible);
    if (q) users = users.where(({ ref }) => contains(q, ref('u.email'), ref('u.fullName')));
    if (role) users = users.where('u.role', '=', role);
    if (scope) users = users.where('u.scope', '=', scope);
    if (workspaceId) users = users.where('u.workspaceId', '=', workspaceId);
    if (isActive) users = users.where('u.isActive', '=', isActive);
    return users;
  },
  [{ column: 'u.id', type: 'uuid', descending: true }],
);

/** Returns the users that the caller sees where its rank reaches the floor, newest first. */
export function listUserRows(
  ctx: Scoped,
  { q, role, scope, workspaceId, isActive }: UserFilters,
  page: PageRequest,
): Promise<Page<UserRow>> {
  const visible = usersSeenBy(ctx.caller, workspacesAtFloor(ctx.caller, ctx.floor));
  return listed(ctx.em, { q, role, scope, workspaceId, isActive, visible }, page);
}
