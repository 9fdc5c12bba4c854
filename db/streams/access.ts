import { rankOf, roles } from '../../workflows/contracts/access.ts';
import type { ErrorCode } from '../../workflows/contracts/error-codes.ts';
import type { Databases } from '../databases.ts';
import { isRevoked, restriction } from '../identity/sessions/session-right.sql.ts';
import { sweeperRows } from './sweeper-rows.ts';

/** The holder of a right on which something depends: an open stream, an awaited answer. */
export interface RightHolder {
  /** The run that is shown, or null. */
  readonly runId: string | null;
  /** The tenant of what is shown when it is not a run; null where that doesn't matter. */
  readonly place: { readonly organizationId: string; readonly workspaceId: string } | null;
  /** Kind of the principal. Inside an impersonation it is `impersonation`, and `principalId` is the impersonation's id. */
  readonly kind: string;
  readonly principalId: string | null;
  readonly sessionId: string | null;
  readonly actingUserId: string | null;
  /** A key rotated after this time has a different plaintext from the one that was presented. */
  readonly openedAt: Date;
}

/** Returns a condition: user `u` may see the row scope `p`. Operators see everything. */
function mayRead(u: string): string {
  return `(p.organization_id is null or ${u}.scope = 'platform' or (${u}.organization_id = p.organization_id and (${u}.scope = 'organization'
    or ${u}.workspace_id = p.workspace_id or exists (select from workspace_grants g where g.user_id = ${u}.id and g.workspace_id = p.workspace_id))))`;
}

/** Returns a condition: key or client `c` may see the row scope `p`. */
function reaches(c: string): string {
  return `(p.organization_id is null or (${c}.organization_id = p.organization_id and (${c}.workspace_id is null or ${c}.workspace_id = p.workspace_id)))`;
}

function isActive(u: string, o: string): string {
  return `(${u}.is_active and ${u}.deleted_at is null and ${o}.purged_at is null)`;
}

/** Returns an expression for the position of a role; viewer is 0. */
function rankSql(role: string): string {
  return `array_position(array['${roles.join("', '")}'], ${role}::text) - 1`;
}

// The rank of the holder. For a key it is the lower of its own rank and its creator's in the workspace where the key lives; a creator who cannot see that
// workspace leaves it none.
const holderRank = `case q.kind
  when 'user' then ${rankSql('h.role')}
  when 'service_key' then least(${rankSql('k.role')}, ${rankSql('h.role')}, case
    when h.scope <> 'workspace' or h.workspace_id = k.workspace_id then ${rankOf('operator')}
    else coalesce((select ${rankSql('g.role')} from workspace_grants g where g.user_id = h.id and g.workspace_id = k.workspace_id), -1) end)
  end`;

const accessSql = `
  select q.n::integer as n, case
    when q.run_id is not null and r.id is null then 'not_found'
    when q.session_id is not null and (s.id is null or ${isRevoked}) then 'session_revoked'
    when q.session_id is not null and least(s.idle_expires_at, s.expires_at) <= now() then 'token_expired'
    when q.kind = 'impersonation' and (i.id is null or i.ended_at is not null or not io.is_active or io.deleted_at is not null or io.role <> 'operator' or h.role = 'operator') then 'session_revoked'
    when q.kind = 'impersonation' and i.expires_at <= now() then 'token_expired'
    when q.kind = 'service_key' and (k.id is null or k.revoked_at is not null or k.expires_at <= now() or k.rotated_at > q.opened_at) then 'credential_invalid'
    when q.kind = 'oauth_client' and (c.id is null or c.deleted_at is not null or c.secret_rotated_at > q.opened_at) then 'credential_invalid'
    when q.kind = 'oauth_client' and not ${reaches('c')} then 'not_found'
    when h.id is not null and not ${isActive('h', 'ho')} then case q.kind when 'service_key' then 'credential_invalid' else 'session_revoked' end
    when q.session_id is not null and ${restriction} is not null then 'mfa_required'
    when q.kind = 'service_key' and not ${reaches('k')} then 'not_found'
    when q.kind = 'service_key' and k.scope = 'organization' and h.scope = 'workspace' then 'credential_invalid'
    when h.id is not null and not ${mayRead('h')} then 'not_found'
    when q.acting_user_id is not null and (a.id is null or not ${isActive('a', 'ao')} or not ${mayRead('a')}) then 'not_found'
    when q.acting_user_id is not null and ${holderRank} < greatest(${rankOf('admin')}, ${rankSql('a.role')}) then 'role_insufficient'
    when h.id is null and q.kind in ('user', 'service_key', 'impersonation') then 'credential_invalid'
  end as code
  from unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::uuid[], $6::timestamptz[], $7::uuid[], $8::uuid[]) with ordinality
    as q(run_id, kind, principal_id, session_id, acting_user_id, opened_at, organization_id, workspace_id, n)
  left join runs r on r.id = q.run_id and r.deleted_at is null
  cross join lateral (
    select coalesce(r.organization_id, q.organization_id) as organization_id, coalesce(r.workspace_id, q.workspace_id) as workspace_id) p
  left join sessions s on s.id = q.session_id
  left join service_keys k on q.kind = 'service_key' and k.id = q.principal_id
  left join oauth_clients c on q.kind = 'oauth_client' and c.id = q.principal_id
  left join impersonations i on q.kind = 'impersonation' and i.id = q.principal_id
  left join users io on io.id = i.operator_user_id
  left join users h on h.id = case q.kind when 'user' then q.principal_id when 'service_key' then k.created_by_user_id when 'impersonation' then i.target_user_id end
  left join organizations ho on ho.id = h.organization_id
  left join users a on a.id = q.acting_user_id
  left join organizations ao on ao.id = a.organization_id`;

/**
 * The one place that decides whether a right still stands, for all open streams and awaited answers of a process in one query: the session or key is valid,
 * its holder is active, lacks no required second factor and has the rank that acting for another user requires, and the run is still visible. Returns the
 * error code of each lost right, by position in `holders`. An access token that merely expired loses nothing.
 */
export async function lostAccess(db: Databases, holders: readonly RightHolder[]): Promise<Map<number, ErrorCode>> {
  const answers = await sweeperRows<{ n: number; code: ErrorCode | null }>(db, accessSql, [
    holders.map((holder) => holder.runId),
    holders.map((holder) => holder.kind),
    holders.map((holder) => holder.principalId),
    holders.map((holder) => holder.sessionId),
    holders.map((holder) => holder.actingUserId),
    holders.map((holder) => holder.openedAt.toISOString()),
    holders.map((holder) => holder.place?.organizationId ?? null),
    holders.map((holder) => holder.place?.workspaceId ?? null),
  ]);
  const lost = new Map<number, ErrorCode>();
  for (const { n, code } of answers) if (code !== null) lost.set(n - 1, code);
  return lost;
}
