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

/**
 * Ends the live sessions of a user, connected apps among them, with their tokens, unused stream tokens and open streams; one may be kept. Gives the
 * ids of those that have ended by this.
 */
export async function revokeSessionsOf(
  unit: Unit,
  {
    userId,
    exceptSessionId = null,
    reason,
  }: { readonly userId: string; readonly exceptSessionId?: string | null; readonly reason: EndReason },
): Promise<string[]> {
  // Before the sessions, in a statement of its own: an exchange under way either finds no code or leaves a session that is seen below.
  await change(unit.em, 'delete from oauth_codes where user_id = ?::uuid and used_at is null', [userId]);
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

/** Kills half-done sign-ins and unused links of mails. */
export async function killChallenges(
  unit: Unit,
  { userId, purposes }: { readonly userId: string; readonly purposes: readonly ('login' | 'password_reset' | 'email_confirm')[] },
): Promise<void> {
  await change(unit.em, 'delete from auth_challenges where user_id = ?::uuid and purpose = any(?)', [userId, purposes]);
}

/**
 * Ends whatever a user could still sign in or go on with: sessions, half-done sign-ins, links of mails, a change of address under way. Keys end
 * where they lie (`endOwnThings` of `db/tenancy/user-changes.ts`). The user is inactive already, so that no sign-in slips in behind.
 */
export async function endCredentialsOf(
  unit: Unit,
  { userId, reason }: { readonly userId: string; readonly reason: EndReason },
): Promise<void> {
  // Challenges first: a sign-in that is answering one holds its row, and the session that it opens is seen below.
  await killChallenges(unit, { userId, purposes: ['login', 'password_reset', 'email_confirm'] });
  await change(unit.em, 'update user_credentials set pending_email = null where user_id = ?::uuid and pending_email is not null', [userId]);
  await revokeSessionsOf(unit, { userId, reason });
  unit.outgoing.revoked.push(`user:${userId}`);
}

const ofPerson = [
  'oauth_codes',
  'refresh_tokens',
  'sessions',
  'auth_challenges',
  'recovery_codes',
  'totp_factors',
  'user_credentials',
] as const;

/** Erases what a user signs in with: the rows themselves go. */
export async function eraseCredentialsOf(unit: Unit, { userId }: { readonly userId: string }): Promise<void> {
  await endCredentialsOf(unit, { userId, reason: 'deletion' });
  for (const table of ofPerson) await change(unit.em, `delete from ${table} where user_id = ?`, [userId]);
}
