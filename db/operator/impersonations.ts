import { sql } from 'kysely';
import { fail } from '../../workflows/contracts/failure.ts';
import { Condition } from '../condition.ts';
import { preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import type { ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { isUnbounded, organizationOf, workspacesOf } from '../caller-scope.ts';
import { visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { Impersonation } from './impersonation.entity.ts';

/** An impersonation as views show it; an expired one counts as ended at its expiry. */
export type ImpersonationRow = Awaited<ReturnType<typeof lockImpersonation>>;

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

/** Select list of an `ImpersonationRow`. */
export const impersonationColumns = [
  'id',
  'operatorUserId',
  'targetUserId',
  'organizationId',
  'workspaceId',
  'reason',
  'startedAt',
  'expiresAt',
  sql<string | null>`coalesce(ended_at, case when expires_at <= now() then expires_at end)`.as('endedAt'),
  'endedByUserId',
] as const;

/** Returns a user that the operator sees, locked against changes, or null when there is none. */
export function findTarget(ctx: Scoped, userId: string) {
  return row(
    ctx.em,
    query
      .selectFrom('users as u')
      .select(['u.role', 'u.isActive', 'u.organizationId', 'u.workspaceId'])
      .where('u.id', '=', userId)
      .where('u.deletedAt', 'is', null)
      .where(usersOf(ctx))
      .forShare('u'),
  );
}

/** `isOpen` and `isOver` exclude each other. */
interface Listed extends Omit<ImpersonationFilters, 'active'> {
  readonly isOpen: true | undefined;
  readonly isOver: true | undefined;
  readonly visible: Condition;
}

const impersonationList = preparedList(
  ({ visible, isOpen, isOver, ...filters }: ParametersOf<Listed>) => {
    const { organization_id: organizationId, operator_user_id: operatorUserId, target_user_id: targetUserId, from, to } = filters;
    let listed = query.selectFrom('impersonations as i').where(visible).select(impersonationColumns);
    if (organizationId) listed = listed.where('i.organizationId', '=', organizationId);
    if (operatorUserId) listed = listed.where('i.operatorUserId', '=', operatorUserId);
    if (targetUserId) listed = listed.where('i.targetUserId', '=', targetUserId);
    if (from) listed = listed.where(sql<boolean>`i.started_at >= ${from}::timestamptz`);
    if (to) listed = listed.where(sql<boolean>`i.started_at < ${to}::timestamptz`);
    if (isOpen) listed = listed.where(sql<boolean>`(i.ended_at is null and i.expires_at > now())`);
    if (isOver) listed = listed.where(sql<boolean>`not (i.ended_at is null and i.expires_at > now())`);
    return listed;
  },
  [{ column: 'i.id', type: 'uuid', descending: true }],
);

/** Returns the impersonations that the operator sees, newest first. */
export function listImpersonationRows(ctx: Scoped, { active, ...filters }: ImpersonationFilters, page: PageRequest) {
  const state = { isOpen: active === true || undefined, isOver: active === false || undefined };
  return impersonationList(ctx.em, { ...filters, ...state, visible: visibleTo(ctx, Impersonation, 'i') }, page);
}

/** Locks an impersonation that the operator sees. Throws 404. */
export async function lockImpersonation(ctx: Scoped, id: string) {
  const found = await row(
    ctx.em,
    query
      .selectFrom('impersonations as i')
      .select(impersonationColumns)
      .where('i.id', '=', id)
      .where(visibleTo(ctx, Impersonation, 'i'))
      .forNoKeyUpdate(),
  );
  if (!found) throw fail('not_found');
  return found;
}

/** Users that an operator may work as: all, or with X-View-* those with home or grant in that organization or workspace. */
function usersOf(ctx: Scoped): Condition {
  const { caller } = ctx;
  if (isUnbounded(caller)) return new Condition('true');
  const workspaceIds = workspacesOf(caller);
  const inOrganization = 'u.organization_id = ?::uuid';
  if (workspaceIds === null) return new Condition(inOrganization, [organizationOf(caller)]);
  return new Condition(
    `(${inOrganization} and (u.workspace_id = any(?::uuid[])
      or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = any(?::uuid[]))))`,
    [organizationOf(caller), workspaceIds, workspaceIds],
  );
}
