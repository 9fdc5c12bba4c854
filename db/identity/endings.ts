import { change, rows } from '../sql.ts';
import type { Unit } from '../unit.ts';

/** Why sessions of a person end. */
export type EndReason =
  | 'logout'
  | 'revoked'
  | 'password_changed'
  | 'password_reset'
  | 'factor_removed'
  | 'refresh_reuse'
  | 'deactivation'
  | 'deletion';

/** A session that is neither revoked nor over. */
export const liveSession = 's.revoked_at is null and least(s.idle_expires_at, s.expires_at) > now()';

/** What a user may still have open beside sessions. */
type ChallengePurpose = 'login' | 'password_reset' | 'email_confirm';

interface Ending {
  readonly userId: string;
  readonly exceptSessionId?: string | null;
  readonly reason: EndReason;
  /** Half-done sign-ins and unused links of mails that die as well; with the link that confirms it a change of address. */
  readonly challenges?: readonly ChallengePurpose[];
}

/**
 * Ends the live sessions of a user, connected apps among them, with their tokens, unused stream tokens and open streams; one may be kept. Gives the
 * ids of those that have ended by this. Two statements.
 */
export async function revokeSessionsOf(unit: Unit, { userId, exceptSessionId = null, reason, challenges = [] }: Ending): Promise<string[]> {
  // Before the sessions, in a statement of its own: whoever is just exchanging or answering one of these either finds none, or holds its row until
  // the session that it opens can be seen below.
  await change(
    unit.em,
    `with answered as (delete from auth_challenges where user_id = ?::uuid and purpose = any(?) and used_at is null),
       wanted as (
         update user_credentials set pending_email = null where user_id = ?::uuid and pending_email is not null and 'email_confirm' = any(?))
     delete from oauth_codes where user_id = ?::uuid and used_at is null`,
    [userId, challenges, userId, challenges, userId],
  );
  const ended = await rows<{ id: string }>(
    unit.em,
    `update sessions s set revoked_at = now(), revoke_reason = ?
      where s.user_id = ?::uuid and ${liveSession} and (?::uuid is null or s.id <> ?::uuid) returning s.id`,
    [reason, userId, exceptSessionId, exceptSessionId],
  );
  const ids = ended.map(({ id }) => id);

  unit.outgoing.revoked.push(...ids.map((id) => `session:${id}`));
  return ids;
}

/**
 * Ends whatever a user could still sign in or go on with: sessions, half-done sign-ins, links of mails, a change of address under way. Keys end
 * where they lie (`endOwnThings` of `db/tenancy/user-changes.ts`). The user is locked, as every sign-in locks them, so one statement sees all.
 */
export async function endCredentialsOf(unit: Unit, { userId, reason }: Pick<Ending, 'userId' | 'reason'>): Promise<void> {
  const ended = await rows<{ id: string }>(
    unit.em,
    `with answered as (delete from auth_challenges where user_id = ?::uuid and used_at is null),
       wanted as (update user_credentials set pending_email = null where user_id = ?::uuid and pending_email is not null),
       granted as (delete from oauth_codes where user_id = ?::uuid and used_at is null)
     update sessions s set revoked_at = now(), revoke_reason = ? where s.user_id = ?::uuid and ${liveSession} returning s.id`,
    [userId, userId, userId, reason, userId],
  );

  unit.outgoing.revoked.push(`user:${userId}`, ...ended.map(({ id }) => `session:${id}`));
}

/** Erases what a user signs in with: the rows themselves go, in one statement. The user is locked. */
export async function eraseCredentialsOf(unit: Unit, { userId }: Pick<Ending, 'userId'>): Promise<void> {
  const others = ['auth_challenges', 'recovery_codes', 'totp_factors', 'user_credentials', 'oauth_codes', 'refresh_tokens'];
  const erased = await rows<{ id: string }>(
    unit.em,
    `with ${others.map((table) => `${table}_gone as (delete from ${table} where user_id = ?::uuid)`).join(', ')}
     delete from sessions where user_id = ?::uuid returning id`,
    [...others.map(() => userId), userId],
  );

  unit.outgoing.revoked.push(`user:${userId}`, ...erased.map(({ id }) => `session:${id}`));
}
