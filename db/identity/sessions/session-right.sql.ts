// The one rule about what a session or grant `s` is still good for. Requests read it with their caller (`gate_session` and its like), open streams
// and waiting answers when they are looked at again, links and codes when they are used.

const hasFactor = 'exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null)';
const isFactorDemanded =
  'exists (select from organization_settings rules where rules.organization_id = s.organization_id and rules.require_mfa)';

/** Whether `s` has been ended. A grant dies with its client, also one that was opened while the client was being deleted. */
export const isRevoked = `(s.revoked_at is not null or (s.client_id is not null and not exists (
    select from oauth_clients holder where holder.client_id = s.client_id and holder.deleted_at is null)))`;

/**
 * What `s` lacks while the organization demands a second factor, else null: its user has none, or `s` was never verified by it. A grant counts as
 * verified as the session was that approved it.
 */
export const restriction = `(case when not ${isFactorDemanded} then null when not ${hasFactor} then 'enrolment_required'
    when s.mfa_level = 'none' then 'step_up_required' end)`;

/** Until when `s` counts as freshly verified, null when it doesn't: with a confirmed factor only a factor makes it so, and never a grant. */
export const freshUntil = `(case when s.kind = 'login' and (s.mfa_level <> 'none' or not ${hasFactor}) then s.verified_at + interval '10 minutes' end)`;

/**
 * Whether the session that asked for something may still do so: it has not been ended, and lacks nothing. Null ids are of rows that were made before
 * sessions were noted. `survivesLogout`: what its holder left behind by signing out is still good.
 */
export function isAskerStanding(sessionId: string, { survivesLogout = false }: { readonly survivesLogout?: boolean } = {}): string {
  const isLive = survivesLogout ? "(s.revoked_at is null or s.revoke_reason = 'logout')" : 's.revoked_at is null';

  return `(${sessionId} is null or exists (select from sessions s where s.id = ${sessionId} and ${isLive} and ${restriction} is null))`;
}
