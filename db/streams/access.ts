import { sql } from 'kysely';
import { rankOf, roles } from '../../workflows/contracts/access.ts';
import type { ErrorCode } from '../../workflows/contracts/error-codes.ts';
import type { Databases } from '../databases.ts';
import { isRevoked, restriction } from '../identity/sessions/session-right.sql.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { sweeperRows } from './archive.ts';

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

const lostCode = sql.raw<ErrorCode | null>(`case
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
  end`);

/** Holders, by column. */
interface HolderLists {
  readonly runIds: readonly (string | null)[];
  readonly kinds: readonly string[];
  readonly principalIds: readonly (string | null)[];
  readonly sessionIds: readonly (string | null)[];
  readonly actingUserIds: readonly (string | null)[];
  readonly openedAt: readonly string[];
  readonly organizationIds: readonly (string | null)[];
  readonly workspaceIds: readonly (string | null)[];
}

interface HeldRight {
  readonly runId: string | null;
  readonly kind: string;
  readonly principalId: string | null;
  readonly sessionId: string | null;
  readonly actingUserId: string | null;
  readonly openedAt: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly n: number;
}

/** The tenant of what a right shows, which its run has unless it is not a run. */
const place = sql<Pick<HeldRight, 'organizationId' | 'workspaceId'>>`(
  select coalesce(r.organization_id, q.organization_id) as organization_id, coalesce(r.workspace_id, q.workspace_id) as workspace_id)`;

const rights = prepared((of: ParametersOf<HolderLists>) => {
  const held = sql<HeldRight>`unnest(${of.runIds}::uuid[], ${of.kinds}::text[], ${of.principalIds}::uuid[], ${of.sessionIds}::uuid[],
    ${of.actingUserIds}::uuid[], ${of.openedAt}::timestamptz[], ${of.organizationIds}::uuid[], ${of.workspaceIds}::uuid[]) with ordinality`;
  return query
    .selectFrom(held.as<'q'>(sql`q (run_id, kind, principal_id, session_id, acting_user_id, opened_at, organization_id, workspace_id, n)`))
    .leftJoin('runs as r', (join) => join.onRef('r.id', '=', 'q.runId').on('r.deletedAt', 'is', null))
    .innerJoinLateral(place.as('p'), (join) => join.onTrue())
    .leftJoin('sessions as s', 's.id', 'q.sessionId')
    .leftJoin('service_keys as k', (join) => join.on('q.kind', '=', sql.lit('service_key')).onRef('k.id', '=', 'q.principalId'))
    .leftJoin('oauth_clients as c', (join) => join.on('q.kind', '=', sql.lit('oauth_client')).onRef('c.id', '=', 'q.principalId'))
    .leftJoin('impersonations as i', (join) => join.on('q.kind', '=', sql.lit('impersonation')).onRef('i.id', '=', 'q.principalId'))
    .leftJoin('users as io', 'io.id', 'i.operatorUserId')
    .leftJoin('users as h', (join) =>
      join.on(({ eb, ref }) =>
        eb(
          'h.id',
          '=',
          sql<string>`case ${ref('q.kind')} when 'user' then ${ref('q.principalId')} when 'service_key' then ${ref('k.createdByUserId')}
            when 'impersonation' then ${ref('i.targetUserId')} end`,
        ),
      ),
    )
    .leftJoin('organizations as ho', 'ho.id', 'h.organizationId')
    .leftJoin('users as a', 'a.id', 'q.actingUserId')
    .leftJoin('organizations as ao', 'ao.id', 'a.organizationId')
    .select([sql<number>`q.n::integer`.as('n'), lostCode.as('code')]);
});

/**
 * The one place that decides whether a right still stands, for all open streams and awaited answers of a process in one query: the session or key is valid,
 * its holder is active, lacks no required second factor and has the rank that acting for another user requires, and the run is still visible. Returns the
 * error code of each lost right, by position in `holders`. An access token that merely expired loses nothing.
 */
export async function lostAccess(db: Databases, holders: readonly RightHolder[]): Promise<Map<number, ErrorCode>> {
  const held = rights({
    runIds: holders.map((holder) => holder.runId),
    kinds: holders.map((holder) => holder.kind),
    principalIds: holders.map((holder) => holder.principalId),
    sessionIds: holders.map((holder) => holder.sessionId),
    actingUserIds: holders.map((holder) => holder.actingUserId),
    openedAt: holders.map((holder) => holder.openedAt.toISOString()),
    organizationIds: holders.map((holder) => holder.place?.organizationId ?? null),
    workspaceIds: holders.map((holder) => holder.place?.workspaceId ?? null),
  });
  const lost = new Map<number, ErrorCode>();
  for (const { n, code } of await sweeperRows(db, held)) if (code !== null) lost.set(n - 1, code);
  return lost;
}
