import { lowerRole, type Role, type Scope } from '../../../workflows/contracts/access.ts';
import type { Caller } from '../../caller.ts';
import type { Predicate, Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The credential other than a person's session that made a row; null where a session made it. */
export interface MadeBy {
  readonly kind: 'service_key' | 'oauth_grant' | 'oauth_client';
  readonly id: string;
}

/** The person behind a credential, as read under the lock; no person stands behind an OAuth client that acts by itself. */
export interface Creator {
  readonly userId: string | null;
  readonly role: Role | null;
  readonly scope: Scope | null;
  readonly workspaceId: string | null;
}

/** Whether the caller is a person's session: false for a service key, an OAuth grant and a client's own token, even where they act as a user. */
export function isPerson(caller: Caller): boolean {
  return caller.kind === 'user' && caller.clientId === null;
}

/** Returns the credential that makes a row, or null where it is one of a person's sessions. */
export function madeBy(caller: Caller): MadeBy | null {
  const { kind, principalId, clientId, sessionId } = caller;
  if (kind === 'service_key' && principalId !== null) return { kind, id: principalId };
  if (kind === 'oauth_client' && principalId !== null) return { kind, id: principalId };
  return clientId !== null && sessionId !== null ? { kind: 'oauth_grant', id: sessionId } : null;
}

/**
 * Selects the person behind the caller as `user_id`, `role`, `scope`, `workspace_id`, and locks person and credential until the end of the transaction: what is
 * made under the lock exists before either can be ended, and ends with it; where one has already ended there is no row. A key or an impersonation ends by an
 * update of its own row, also when its creator ends.
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
  // The person before the session, in the order of every operation that ends both.
  return {
    sql: `select u.id as user_id, u.role, u.scope, u.workspace_id from users u join sessions s on s.user_id = u.id
      where u.id = ?::uuid and u.is_active and u.deleted_at is null and s.id = ?::uuid and s.revoked_at is null for share of u, s`,
    params: [principalId, sessionId],
  };
}

/** Returns the person behind the caller, locked, or null when person or credential has ended meanwhile. */
export async function findCreator({ em, caller }: Scoped): Promise<Creator | null> {
  const { sql, params } = activeCreator(caller);
  const found = await row<{ user_id: string | null; role: Role | null; scope: Scope | null; workspace_id: string | null }>(em, sql, params);
  return found && { userId: found.user_id, role: found.role, scope: found.scope, workspaceId: found.workspace_id };
}

/** Returns today's rank of a locked creator in a workspace, or in the whole organization (null); null where they have none. */
export async function rankOfCreator(
  tx: TenantTransaction,
  { userId, role, scope, workspaceId: home }: Creator,
  workspaceId: string | null,
): Promise<Role | null> {
  if (role === null) return null;
  if (scope !== 'workspace' || (workspaceId !== null && workspaceId === home)) return role;
  if (workspaceId === null) return null;

  // A separate statement, so that it does not see a grant that ended while this waited for the lock.
  const granted = await row<{ role: Role }>(tx.em, 'select role from workspace_grants where user_id = ? and workspace_id = ?', [
    userId,
    workspaceId,
  ]);
  return granted ? lowerRole(granted.role, role) : null;
}
