import { change, rows } from '../sql.ts';
import type { Unit } from '../unit.ts';

/** Why the sessions of a person end. */
export type EndReason =
  | 'logout'
  | 'revoked'
  | 'password_changed'
  | 'password_reset'
  | 'factor_removed'
  | 'refresh_reuse'
  | 'deactivation'
  | 'deletion';

/**
 * Ends the live sessions of a user, connected apps among them, with their tokens and open streams; one may be kept. Gives the ids of those
 * that have ended by this.
 */
export async function revokeSessionsOf(
  unit: Unit,
  { userId, exceptSessionId = null, reason }: { readonly userId: string; readonly exceptSessionId?: string | null; readonly reason: EndReason },
): Promise<string[]> {
  const ended = await rows<{ id: string }>(
    unit.em,
    `update sessions set revoked_at = now(), revoke_reason = ?
      where user_id = ? and revoked_at is null and (?::uuid is null or id <> ?::uuid) returning id`,
    [reason, userId, exceptSessionId, exceptSessionId],
  );
  const ids = ended.map(({ id }) => id);
  unit.outgoing.revoked.push(...ids.map((id) => `session:${id}`));
  return ids;
}

/** Ends whatever a user could still sign in or go on with: sessions, half-done sign-ins, links in mails. */
export async function endCredentialsOf(unit: Unit, { userId, reason }: { readonly userId: string; readonly reason: EndReason }): Promise<void> {
  await revokeSessionsOf(unit, { userId, reason });
  await change(unit.em, 'delete from auth_challenges where user_id = ?', [userId]);
  unit.outgoing.revoked.push(`user:${userId}`);
}

const ofPerson = ['oauth_codes', 'refresh_tokens', 'sessions', 'auth_challenges', 'recovery_codes', 'totp_factors', 'user_credentials'] as const;

/** Erases what a user signs in with: the rows themselves go. */
export async function eraseCredentialsOf(unit: Unit, { userId }: { readonly userId: string }): Promise<void> {
  await endCredentialsOf(unit, { userId, reason: 'deletion' });
  for (const table of ofPerson) await change(unit.em, `delete from ${table} where user_id = ?`, [userId]);
}
