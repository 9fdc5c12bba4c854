// The one rule about what a session or grant `s` may still do. Requests read it with their caller (`gate_session` and similar functions), open streams and
// waiting replies when they are checked again, links and codes when they are used.

const hasFactor = 'exists (select from totp_factors own where own.user_id = s.user_id and own.confirmed_at is not null)';
const isFactorDemanded =
  'exists (select from organization_settings rules where rules.organization_id = s.organization_id and rules.require_mfa)';

/** Whether `s` has been ended. A grant ends with its client, even if it was opened while the client was being deleted. */
export const isRevoked = `(s.revoked_at is not null or (s.client_id is not null and not exists (
    select from oauth_clients holder where holder.client_id = s.client_id and holder.deleted_at is null)))`;

/**
 * What `s` lacks while the organization requires a second factor, else null: its user has none, or `s` was never verified by it. A grant counts as verified as
 * the session that approved it.
 */
export const restriction = `(case when not ${isFactorDemanded} then null when not ${hasFactor} then 'enrolment_required'
    when s.mfa_level = 'none' then 'step_up_required' end)`;

/** Until when `s` counts as freshly verified, or null when it doesn't: once a factor is confirmed, only a factor makes it fresh; a grant is never fresh. */
export const freshUntil = `(case when s.kind = 'login' and (s.mfa_level <> 'none' or not ${hasFactor}) then s.verified_at + interval '10 minutes' end)`;

/**
 * Whether the session that asked for something may still do so: it has not been ended and lacks nothing. Null ids belong to rows made before sessions were
 * recorded. `survivesLogout`: what its holder left behind by signing out remains valid.
 */
export function isAskerStanding(sessionId: string, { survivesLogout = false }: { readonly survivesLogout?: boolean } = {}): string {
  const isLive = survivesLogout ? "(s.revoked_at is null or s.revoke_reason = 'logout')" : 's.revoked_at is null';

  return `(${sessionId} is null or exists (select from sessions s where s.id = ${sessionId} and ${isLive} and ${restriction} is null))`;
}
