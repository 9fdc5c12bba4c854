import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { newOpaqueToken, tokenHash } from '../identity/factors/opaque-tokens.ts';
import { isAskerStanding } from '../identity/sessions/session-right.sql.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Seconds within which a second use of a refresh token is a lost race rather than theft. */
const raceSeconds = 10;

/** A grant's session and its newest refresh token; the token is null where the client has none. */
export interface IssuedGrant {
  readonly sessionId: string;
  readonly refreshToken: string | null;
}

export interface NewGrant {
  readonly codeHash: Buffer;
  readonly clientName: string;
  /** The granted OAuth scopes; at most those of the code. */
  readonly scope: string;
  readonly device: { readonly userAgent: string; readonly networkAddress: string };
  readonly lifetime: { readonly idleDays: number; readonly absoluteDays: number };
  readonly hasRefresh: boolean;
}

/**
 * Uses up a code and opens the session of its grant, with the first refresh token: one statement, and of any number of concurrent calls one wins. Returns null
 * for a loser, and when the user has been deactivated, has changed the password since the code was made, or the session that approved it has been ended:
 * because of the locks, a concurrent change comes either before or sees the new session. The grant counts as verified as that session.
 */
export async function openGrant(
  tx: TenantTransaction,
  { codeHash, clientName, scope, device, lifetime, hasRefresh }: NewGrant,
): Promise<IssuedGrant | null> {
  const sessionId = newId();
  const refreshToken = newOpaqueToken('refresh');
  const opened = await row<{ id: string }>(
    tx.em,
    `with standing as (
       select a.code_hash, u.id, u.organization_id, u.workspace_id,
         coalesce((select s.mfa_level from sessions s where s.id = a.approver_session_id), 'none') as mfa_level
       from oauth_codes a join users u on u.id = a.user_id join user_credentials c on c.user_id = u.id
       where a.code_hash = ? and u.is_active and u.deleted_at is null and c.password_changed_at <= a.created_at
         and ${isAskerStanding('a.approver_session_id', { survivesLogout: true })}
       for no key update of u, c),
     used as (
       update oauth_codes a set used_at = now(), session_id = ?::uuid from standing
       where a.code_hash = standing.code_hash and a.used_at is null and a.expires_at > now()
       returning a.client_id, a.resource, standing.id, standing.organization_id, standing.workspace_id, standing.mfa_level),
     opened as (
       insert into sessions (id, user_id, organization_id, workspace_id, kind, client_id, client_name, oauth_scope, resource, user_agent, ip_truncated,
         mfa_level, verified_at, created_at, last_seen_at, idle_expires_at, expires_at)
       select ?::uuid, id, organization_id, workspace_id, 'oauth', client_id, ?, ?, resource, ?, ?, mfa_level, now(), now(), now(),
         now() + make_interval(days => least(?::int, ?::int)), now() + make_interval(days => ?::int)
       from used
       returning id, user_id, organization_id, oauth_scope, idle_expires_at),
     refresh as (
       insert into refresh_tokens (id, session_id, user_id, organization_id, token_hash, oauth_scope, created_at, expires_at)
       select ?::uuid, id, user_id, organization_id, ?::bytea, oauth_scope, now(), idle_expires_at from opened where ?::boolean)
     select id from opened`,
    [
      codeHash,
      sessionId,
      sessionId,
      clientName,
      scope,
      device.userAgent,
      device.networkAddress,
      lifetime.idleDays,
      lifetime.absoluteDays,
      lifetime.absoluteDays,
      newId(),
      tokenHash(refreshToken),
      hasRefresh,
    ],
  );

  return opened && { sessionId, refreshToken: hasRefresh ? refreshToken : null };
}

/** Uses up a code without a grant. Returns false when it has been used already. */
export async function spoilCode(tx: TenantTransaction, codeHash: Buffer): Promise<boolean> {
  const spoiled = query
    .updateTable('oauth_codes')
    .set({ usedAt: sql<string>`now()` })
    .where('codeHash', '=', codeHash)
    .where('usedAt', 'is', null);
  return (await change(tx.em, spoiled)) > 0;
}

/** Returns the session that a code's exchange has opened, or null for an unused code. */
export async function sessionOfUsedCode(tx: TenantTransaction, codeHash: Buffer): Promise<string | null> {
  const used = await row(
    tx.em,
    query.selectFrom('oauth_codes as c').select('c.sessionId').where('c.codeHash', '=', codeHash).where('c.usedAt', 'is not', null),
  );
  return used?.sessionId ?? null;
}

/** Uses up a client's refresh token and issues its successor, with the OAuth scopes of the used one. Returns null for a loser. */
export async function rotateGrant(
  tx: TenantTransaction,
  { hash, clientId, idleDays }: { hash: Buffer; clientId: string; idleDays: number },
): Promise<{ sessionId: string; refreshToken: string } | null> {
  const refreshToken = newOpaqueToken('refresh');
  const issued = await row<{ session_id: string }>(
    tx.em,
    `with used as (
       update refresh_tokens t set used_at = now()
       from sessions s
       where t.token_hash = ? and t.used_at is null and t.expires_at > now()
         and s.id = t.session_id and s.kind = 'oauth' and s.client_id = ? and s.revoked_at is null and least(s.idle_expires_at, s.expires_at) > now()
       returning t.id, t.session_id, t.user_id, t.organization_id, t.oauth_scope),
     touched as (
       update sessions s set last_seen_at = now(), idle_expires_at = least(now() + make_interval(days => ?::int), s.expires_at)
       from used where s.id = used.session_id and s.revoked_at is null
       returning s.id, s.idle_expires_at)
     insert into refresh_tokens (id, session_id, user_id, organization_id, token_hash, oauth_scope, parent_id, created_at, expires_at)
     select ?::uuid, used.session_id, used.user_id, used.organization_id, ?::bytea, used.oauth_scope, used.id, now(), touched.idle_expires_at
     from used join touched on touched.id = used.session_id
     returning session_id`,
    [hash, clientId, idleDays, newId(), tokenHash(refreshToken)],
  );

  return issued && { sessionId: issued.session_id, refreshToken };
}

/** Whether a refresh token that did not win was stolen: it was used before, longer ago than a lost race explains. */
export async function wasReused(tx: TenantTransaction, { hash, clientId }: { hash: Buffer; clientId: string }): Promise<boolean> {
  const found = await row(
    tx.em,
    query
      .selectFrom('refresh_tokens as t')
      .innerJoin('sessions as s', 's.id', 't.sessionId')
      .select(({ ref }) =>
        sql<boolean | null>`clock_timestamp() - ${ref('t.usedAt')} > make_interval(secs => ${raceSeconds})`.as('isReuse'),
      )
      .where('t.tokenHash', '=', hash)
      .where('s.kind', '=', 'oauth')
      .where('s.clientId', '=', clientId)
      .where('s.revokedAt', 'is', null)
      .where(({ ref }) => sql<boolean>`least(${ref('s.idleExpiresAt')}, ${ref('s.expiresAt')}) > now()`),
  );
  return found?.isReuse === true;
}
