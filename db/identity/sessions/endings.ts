import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Why sessions of a person end. */
export type EndReason =
  | 'logout'
  | 'revoked'
  | 'password_changed'
  | 'password_reset'
  | 'factor_added'
  | 'factor_removed'
  | 'refresh_reuse'
  | 'code_reuse'
  | 'client_revoked'
  | 'deactivation'
  | 'deletion';

/** A session that is neither revoked nor expired. */
export const liveSession = 's.revoked_at is null and least(s.idle_expires_at, s.expires_at) > now()';

interface Ending {
  readonly userId: string;
  /** The session that stays. */
  readonly exceptSessionId?: string | null;
  readonly reason: EndReason;
}

/**
 * Ends everything a person, or an impersonator of theirs, is signed in with or could still sign in with: sessions and connected apps with their tokens, unused
 * stream tokens and open streams, incomplete sign-ins, unused codes and links of mails, and a pending change of address, whoever asked for it. Keys are ended
 * elsewhere (`endOwnThings` of `domain/tenancy/user-changes.ts`). Returns the ids of the sessions that this call has ended.
 *
 * An earlier statement has locked the user or their credential: every sign-in locks both, every approval and change of address the credential. So this one
 * statement sees everything that came before, and whatever comes after finds nothing to continue with.
 */
export async function endSignInsOf(tx: TenantTransaction, { userId, exceptSessionId = null, reason }: Ending): Promise<string[]> {
  const ended = await rows<{ id: string }>(
    tx.em,
    `with answered as (delete from auth_challenges where user_id = ?::uuid and used_at is null),
       wanted as (update user_credentials set pending_email = null where user_id = ?::uuid and pending_email is not null),
       approved as (delete from oauth_codes where user_id = ?::uuid and used_at is null)
     update sessions s set revoked_at = now(), revoke_reason = ?
      where s.user_id = ?::uuid and ${liveSession} and (?::uuid is null or s.id <> ?::uuid) returning s.id`,
    [userId, userId, userId, reason, userId, exceptSessionId, exceptSessionId],
  );
  const ids = ended.map(({ id }) => id);

  tx.outgoing.revoked.push(`user:${userId}`, ...ids.map((id) => `session:${id}`));
  return ids;
}

/** Locks what every sign-in of a person locks, before all of theirs are ended. */
export async function lockSignInsOf(tx: TenantTransaction, userId: string): Promise<void> {
  await row(tx.em, 'select user_id from user_credentials where user_id = ?::uuid for no key update', [userId]);
}

/**
 * Ends one session or grant with its access tokens, refresh tokens, unused stream tokens and open streams, and what was asked for in it: a change of address,
 * codes. Codes that its holder leaves behind by signing out stay: the consent page signs out before the app exchanges its code. A change of address whose
 * session is unknown ends with any session. Returns false when the session was already ended.
 */
export async function revokeSession(
  tx: TenantTransaction,
  { sessionId, reason }: { readonly sessionId: string; readonly reason: EndReason },
): Promise<boolean> {
  const done = await row<{ ended: number }>(
    tx.em,
    `with ended as (update sessions set revoked_at = now(), revoke_reason = ? where id = ?::uuid and revoked_at is null returning id),
       asked as (
         delete from auth_challenges c using sessions s
         where s.id = ?::uuid and c.user_id = s.user_id and c.purpose = 'email_confirm' and coalesce(c.session_id, s.id) = s.id and c.used_at is null
         returning c.user_id),
       wanted as (update user_credentials set pending_email = null where user_id in (select user_id from asked)),
       approved as (
         delete from oauth_codes a using sessions s
         where s.id = ?::uuid and a.user_id = s.user_id and a.approver_session_id = s.id and a.used_at is null and not ?::boolean)
     select count(*)::int as ended from ended`,
    [reason, sessionId, sessionId, sessionId, reason === 'logout'],
  );

  tx.outgoing.revoked.push(`session:${sessionId}`);
  return done !== null && done.ended > 0;
}

/** Erases what a user signs in with: one statement deletes the rows themselves. The user is locked. */
export async function eraseCredentialsOf(tx: TenantTransaction, { userId }: Pick<Ending, 'userId'>): Promise<void> {
  const others = ['auth_challenges', 'recovery_codes', 'totp_factors', 'user_credentials', 'oauth_codes', 'refresh_tokens'];
  const erased = await rows<{ id: string }>(
    tx.em,
    `with ${others.map((table) => `${table}_gone as (delete from ${table} where user_id = ?::uuid)`).join(', ')}
     delete from sessions where user_id = ?::uuid returning id`,
    [...others.map(() => userId), userId],
  );

  tx.outgoing.revoked.push(`user:${userId}`, ...erased.map(({ id }) => `session:${id}`));
}
