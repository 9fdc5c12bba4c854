import { type Expression, sql } from 'kysely';
import { lowerRole, type Role, type Scope } from '../../../workflows/contracts/access.ts';
import type { Caller } from '../../caller.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query, type Built } from '../../query.ts';
import type { Scoped } from '../../scope.ts';
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

/** The credential of a caller: a key, a client, an impersonation, or else a person and their session. */
export interface Credential {
  readonly serviceKeyId?: string | null;
  readonly oauthClientId?: string | null;
  readonly impersonationId?: string;
  readonly personId?: string | null;
  readonly sessionId?: string | null;
}

/** Returns the credential of a caller. */
export function credentialOf({ kind, principalId, sessionId, impersonationId }: Caller): Credential {
  if (kind === 'service_key') return { serviceKeyId: principalId };
  if (kind === 'oauth_client') return { oauthClientId: principalId };
  return impersonationId === null ? { personId: principalId, sessionId } : { impersonationId };
}

/**
 * Selects the person behind a credential, and locks person and credential until the end of the transaction: what is made under the lock exists before either
 * can be ended, and ends with it; where one has already ended there is no row. A key or an impersonation ends by an update of its own row, also when its
 * creator ends.
 */
export function activeCreator(credential: ParametersOf<Credential>): Built<Creator> & Expression<Creator> {
  const { serviceKeyId, oauthClientId, impersonationId, personId, sessionId } = credential;
  const nobody = [sql<null>`null`.as('role'), sql<null>`null`.as('scope'), sql<null>`null::uuid`.as('workspaceId')] as const;
  if (serviceKeyId !== undefined)
    return query
      .selectFrom('service_keys as k')
      .select('k.createdByUserId as userId')
      .select(nobody)
      .where('k.id', '=', sql<string>`${serviceKeyId}::uuid`)
      .where('k.revokedAt', 'is', null)
      .forShare('k');
  if (oauthClientId !== undefined)
    return query
      .selectFrom('oauth_clients as c')
      .select(sql<null>`null::uuid`.as('userId'))
      .select(nobody)
      .where('c.id', '=', sql<string>`${oauthClientId}::uuid`)
      .where('c.deletedAt', 'is', null)
      .forShare('c');
  if (impersonationId !== undefined)
    return query
      .selectFrom('impersonations as i')
      .select('i.operatorUserId as userId')
      .select(nobody)
      .where('i.id', '=', impersonationId)
      .where('i.endedAt', 'is', null)
      .forShare('i');
  // The person before the session, in the order of every operation that ends both.
  return query
    .selectFrom('users as u')
    .innerJoin('sessions as s', 's.userId', 'u.id')
    .select(['u.id as userId', 'u.role', 'u.scope', 'u.workspaceId'])
    .where('u.id', '=', sql<string>`${personId}::uuid`)
    .where('u.isActive', '=', sql.lit(true))
    .where('u.deletedAt', 'is', null)
    .where('s.id', '=', sql<string>`${sessionId}::uuid`)
    .where('s.revokedAt', 'is', null)
    .forShare(['u', 's']);
}

const creatorOf = prepared((credential: ParametersOf<Credential>) => activeCreator(credential));

/** Returns the person behind the caller, locked, or null when person or credential has ended meanwhile. */
export async function findCreator({ em, caller }: Scoped): Promise<Creator | null> {
  return row(em, creatorOf(credentialOf(caller)));
}

const grantedRole = prepared(({ userId, workspaceId }: ParametersOf<{ readonly userId: string | null; readonly workspaceId: string }>) =>
  query
    .selectFrom('workspace_grants')
    .select('role')
    .where('userId', '=', sql<string>`${userId}::uuid`)
    .where('workspaceId', '=', workspaceId),
);

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
  const granted = await row(tx.em, grantedRole({ userId, workspaceId }));
  return granted ? lowerRole(granted.role, role) : null;
}
