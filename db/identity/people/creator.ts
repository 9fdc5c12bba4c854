import { lowerRole, type Role, type Scope } from '../../../workflows/contracts/access.ts';
import type { Caller } from '../../caller.ts';
import type { Predicate, Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** By which credential that is no person's session a row was made; null where a session made it. */
export interface MadeBy {
  readonly kind: 'service_key' | 'oauth_grant' | 'oauth_client';
  readonly id: string;
}

/** The person behind a credential, as they stand under the lock; nobody stands behind an OAuth client that acts by itself. */
export interface Maker {
  readonly userId: string | null;
  readonly role: Role | null;
  readonly scope: Scope | null;
  readonly workspaceId: string | null;
}

/** True for a service key, an OAuth grant and a client's own token, also where they act as a user: only a session is a person who is there. */
export function isPerson(caller: Caller): boolean {
  return caller.kind === 'user' && caller.clientId === null;
}

/** The credential that makes a row, where it is none of a person's sessions. */
export function madeBy(caller: Caller): MadeBy | null {
  const { kind, principalId, clientId, sessionId } = caller;
  if (kind === 'service_key' && principalId !== null) return { kind, id: principalId };
  if (kind === 'oauth_client' && principalId !== null) return { kind, id: principalId };
  return clientId !== null && sessionId !== null ? { kind: 'oauth_grant', id: sessionId } : null;
}

/**
 * Selects who stands behind the caller as `user_id`, `role`, `scope`, `workspace_id`, and locks person and credential to the end of the
 * transaction: what is made under the lock stands before an ending of either begins, and dies by it; where one has ended there is no row. A key or an
 * impersonation ends by an update of its own row, also with its maker.
 */
export function activeCreator(caller: Caller): Predicate {
  const { kind, principalId, sessionId, impersonationId } = caller;
  if (kind === 'service_key')
    return {
      sql: `select k.created_by_user_id as user_id, null as role, null as scope, null::uuid as workspace_id from service_keys k
        where k.id = ?::uuid and k.revoked_at is null for share of k`,
      params: [principalId],
    };
  if (kind === 'oauth_client')
    return {
      sql: `select null::uuid as user_id, null as role, null as scope, null::uuid as workspace_id from oauth_clients c
        where c.id = ?::uuid and c.deleted_at is null for share of c`,
      params: [principalId],
    };
  if (impersonationId !== null)
    return {
      sql: `select i.operator_user_id as user_id, null as role, null as scope, null::uuid as workspace_id from impersonations i
        where i.id = ?::uuid and i.ended_at is null for share of i`,
      params: [impersonationId],
    };
  // The person before the session, in the order of whatever ends both.
  return {
    sql: `select u.id as user_id, u.role, u.scope, u.workspace_id from users u join sessions s on s.user_id = u.id
      where u.id = ?::uuid and u.is_active and u.deleted_at is null and s.id = ?::uuid and s.revoked_at is null for share of u, s`,
    params: [principalId, sessionId],
  };
}

/** Who stands behind the caller, locked; null when person or credential has ended meanwhile. */
export async function findMaker({ em, caller }: Scoped): Promise<Maker | null> {
  const { sql, params } = activeCreator(caller);
  const found = await row<{ user_id: string | null; role: Role | null; scope: Scope | null; workspace_id: string | null }>(em, sql, params);
  return found && { userId: found.user_id, role: found.role, scope: found.scope, workspaceId: found.workspace_id };
}

/** The rank of a locked maker in a workspace, or in the whole organization (null), today; null where they have none. */
export async function rankOfMaker(
  tx: TenantTransaction,
  { userId, role, scope, workspaceId: home }: Maker,
  workspaceId: string | null,
): Promise<Role | null> {
  if (role === null) return null;
  if (scope !== 'workspace' || (workspaceId !== null && workspaceId === home)) return role;
  if (workspaceId === null) return null;

  // A statement of its own: a grant that ended while the lock was waited for is not seen any more.
  const granted = await row<{ role: Role }>(tx.em, 'select role from workspace_grants where user_id = ? and workspace_id = ?', [
    userId,
    workspaceId,
  ]);
  return granted ? lowerRole(granted.role, role) : null;
}
