import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Role } from '../../workflows/contracts/access.ts';
import { newId } from '../ids.ts';
import { newOpaqueToken, tokenHash } from '../identity/opaque-tokens.ts';
import { fetchPage } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { isUnbounded, organizationOf, workspacesOf } from '../reach.ts';
import { visibleTo, type Predicate, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { Impersonation } from './impersonation.entity.ts';

/** An impersonation as views show one; one that ran out has ended then. */
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

const columns = `i.id, i.operator_user_id, i.target_user_id, i.organization_id, i.workspace_id, i.reason, i.started_at, i.expires_at,
  coalesce(i.ended_at, case when i.expires_at <= now() then i.expires_at end) as ended_at, i.ended_by_user_id`;
const open = '(i.ended_at is null and i.expires_at > now())';

/** The user to work as, locked against a change meanwhile. 422 when there is none in sight, 403 for an operator, 409 `target_inactive`. */
export async function lockTarget(ctx: Scoped, userId: string): Promise<ImpersonationTarget> {
  const own = usersOf(ctx);
  const found = await row<{ role: Role; is_active: boolean; organization_id: string | null; workspace_id: string | null }>(
    ctx.em,
    `select u.role, u.is_active, u.organization_id, u.workspace_id from users u where u.id = ? and u.deleted_at is null and ${own.sql} for share of u`,
    [userId, ...own.params],
  );
  if (!found) throw invalid('/user_id', 'reference', 'refers to a user that does not exist');
  if (found.role === 'operator' || found.organization_id === null)
    throw fail('role_insufficient', { reason: 'rank', detail: "an operator can't be impersonated" });
  if (!found.is_active) throw fail('state_conflict', { reason: 'target_inactive', detail: 'The user is not active.' });
  return { id: userId, organizationId: found.organization_id, workspaceId: found.workspace_id };
}

/** Begins an impersonation by the database's clock. The token is given once; what is stored is its digest. */
export async function insertImpersonation(
  ctx: Scoped,
  target: ImpersonationTarget,
  { reason, minutes }: { readonly reason: string; readonly minutes: number },
): Promise<{ impersonation: ImpersonationRow; token: string }> {
  const token = newOpaqueToken('impersonation');
  const made = await row<ImpersonationRow>(
    ctx.em,
    `insert into impersonations as i (id, operator_user_id, target_user_id, organization_id, workspace_id, reason, token_hash, started_at, expires_at)
     values (?, ?, ?, ?, ?, ?, ?, now(), now() + make_interval(mins => ?)) returning ${columns}`,
    [newId(), ctx.caller.principalId, target.id, target.organizationId, target.workspaceId, reason, tokenHash(token), minutes],
  );
  if (!made) throw new Error('an inserted impersonation was not returned');
  return { impersonation: made, token };
}

/** Impersonations that the operator sees, newest first. */
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

/** Ends an open one: its token and stream tokens are worth nothing from the commit on, its streams are told. */
export async function endImpersonation(ctx: Scoped, id: string): Promise<ImpersonationRow> {
  const ended = await row<ImpersonationRow>(
    ctx.em,
    `update impersonations i set ended_at = clock_timestamp(), ended_by_user_id = ? where i.id = ? returning ${columns}`,
    [ctx.caller.principalId, id],
  );
  if (!ended) throw new Error('a locked impersonation was not ended');
  ctx.outgoing.revoked.push(`impersonation:${id}`);
  return ended;
}

/** Users that an operator may work as: all, or by X-View-* those at home or granted in that place. */
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
