import { newId } from '../../ids.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { newOpaqueToken, tokenHash } from '../factors/opaque-tokens.ts';
import type { Person } from '../people/people.ts';
import type { Session } from './session.entity.ts';

export interface SessionDevice {
  readonly label: string | null;
  readonly userAgent: string;
  readonly networkAddress: string;
}

/** The first or next refresh token of a session; no row contains the token. */
export interface IssuedRefresh {
  readonly sessionId: string;
  readonly refreshToken: string;
  readonly refreshExpiresAt: Date | string;
}

// Both rows are locked: a concurrent reset or deactivation comes either before, or after and then sees the new session.
const byPassword = `standing as (
    select u.id, u.organization_id, u.workspace_id from users u join user_credentials c on c.user_id = u.id
    where u.id = ?::uuid and c.password_hash = ? and u.is_active and u.deleted_at is null
    for no key update of u, c)`;

const withoutFactor = 'not exists (select from totp_factors f where f.user_id = standing.id and f.confirmed_at is not null)';

// Both are locked before the challenge, as in every operation that ends sign-ins.
const byChallenge = `standing as (
    select u.id, u.organization_id, u.workspace_id from users u join user_credentials c on c.user_id = u.id
    where u.id = ?::uuid and u.is_active and u.deleted_at is null
    for no key update of u, c),
  used as (
    update auth_challenges c set used_at = now() from standing
    where c.id = ?::uuid and c.user_id = standing.id and c.purpose = 'login' and c.used_at is null and c.expires_at > now()
    returning c.user_id)`;

function openingSql(standing: string, condition: string): string {
  return `with ${standing},
  opened as (
    insert into sessions (id, user_id, organization_id, workspace_id, kind, device_label, user_agent, ip_truncated, mfa_level,
      verified_at, created_at, last_seen_at, idle_expires_at, expires_at)
    select ?::uuid, id, organization_id, workspace_id, 'login', ?::text, ?::text, ?::text, ?::text, now(), now(), now(),
      now() + make_interval(days => least(?::int, ?::int)), now() + make_interval(days => ?::int)
    from standing where ${condition}
    returning id, user_id, organization_id, idle_expires_at),
  seen as (update users set last_login_at = now() where id = (select user_id from opened))
  insert into refresh_tokens (id, session_id, user_id, organization_id, token_hash, created_at, expires_at)
  select ?::uuid, id, user_id, organization_id, ?::bytea, now(), idle_expires_at from opened
  returning expires_at`;
}

const openByPasswordSql = openingSql(byPassword, withoutFactor);
const openByChallengeSql = openingSql(byChallenge, 'exists (select from used)');

/** Days without a refresh, and days in all. */
export interface SessionLifetime {
  readonly idleDays: number;
  readonly absoluteDays: number;
}

/**
 * Opens the session of a login under the given id, with its first refresh token, and records the login on the user: one statement. Returns null when the
 * verified password is no longer the stored one, or the user has been deactivated or has confirmed a second factor meanwhile. A factor confirmed while this
 * waits for the user's lock is not seen here: a caller that reads the user afterwards sees it and refuses the login.
 */
export async function openSession(
  tx: TenantTransaction,
  {
    person,
    passwordHash,
    ...opening
  }: { person: Pick<Person, 'id'>; passwordHash: string; sessionId: string; device: SessionDevice; lifetime: SessionLifetime },
): Promise<IssuedRefresh | null> {
  return open(tx, { sql: openByPasswordSql, proof: [person.id, passwordHash], mfaLevel: 'none', ...opening });
}

/** Uses up a login challenge and opens its session. Returns null when the challenge is dead: used, expired, or deleted with the password. */
export async function openVerifiedSession(
  tx: TenantTransaction,
  {
    person,
    challengeId,
    ...opening
  }: {
    person: Pick<Person, 'id'>;
    challengeId: string;
    device: SessionDevice;
    mfaLevel: Session['mfaLevel'];
    lifetime: SessionLifetime;
  },
): Promise<IssuedRefresh | null> {
  return open(tx, { sql: openByChallengeSql, proof: [person.id, challengeId], sessionId: newId(), ...opening });
}

async function open(
  tx: TenantTransaction,
  {
    sql,
    proof,
    sessionId,
    device,
    mfaLevel,
    lifetime,
  }: {
    sql: string;
    proof: readonly string[];
    sessionId: string;
    device: SessionDevice;
    mfaLevel: Session['mfaLevel'];
    lifetime: SessionLifetime;
  },
): Promise<IssuedRefresh | null> {
  const refreshToken = newOpaqueToken('refresh');
  const issued = await row<{ expires_at: Date | string }>(tx.em, sql, [
    ...proof,
    sessionId,
    device.label,
    device.userAgent,
    device.networkAddress,
    mfaLevel,
    lifetime.idleDays,
    lifetime.absoluteDays,
    lifetime.absoluteDays,
    newId(),
    tokenHash(refreshToken),
  ]);

  return issued && { sessionId, refreshToken, refreshExpiresAt: issued.expires_at };
}

/**
 * Uses up a refresh token and issues its successor, by the database's clock: of any number of concurrent calls one wins. Only the winner gets the successor.
 * Returns null for a loser, whom `judgeRefresh` judges in the same transaction.
 */
export async function rotateRefresh(
  tx: TenantTransaction,
  { hash, idleDays }: { hash: Buffer; idleDays: number },
): Promise<IssuedRefresh | null> {
  const refreshToken = newOpaqueToken('refresh');
  const issued = await row<{ session_id: string; expires_at: Date | string }>(
    tx.em,
    `with used as (
      update refresh_tokens t set used_at = now()
      from sessions s
      where t.token_hash = ? and t.used_at is null and t.expires_at > now()
        and s.id = t.session_id and s.kind = 'login' and s.revoked_at is null and least(s.idle_expires_at, s.expires_at) > now()
      returning t.id, t.session_id, t.user_id, t.organization_id),
    touched as (
      update sessions s set last_seen_at = now(), idle_expires_at = least(now() + make_interval(days => ?::int), s.expires_at)
      from used where s.id = used.session_id and s.revoked_at is null
      returning s.id, s.idle_expires_at)
    insert into refresh_tokens (id, session_id, user_id, organization_id, token_hash, parent_id, created_at, expires_at)
    select ?::uuid, used.session_id, used.user_id, used.organization_id, ?::bytea, used.id, now(), touched.idle_expires_at
    from used join touched on touched.id = used.session_id
    returning session_id, expires_at`,
    [hash, idleDays, newId(), tokenHash(refreshToken)],
  );

  return issued && { sessionId: issued.session_id, refreshToken, refreshExpiresAt: issued.expires_at };
}

/** The state of a refresh token. */
export interface RefreshState {
  readonly is_revoked: boolean;
  readonly is_over: boolean;
  readonly was_used: boolean;
  /** It was used so recently that this is a lost race; null where it was not used. */
  readonly is_race: boolean | null;
}

/** Returns the state of a login's refresh token and of its session, or null for an unknown token. */
export function findRefreshState(tx: TenantTransaction, hash: Buffer, raceSeconds: number): Promise<RefreshState | null> {
  return row<RefreshState>(
    tx.em,
    `select s.revoked_at is not null as is_revoked, least(s.idle_expires_at, s.expires_at) <= now() as is_over,
      t.used_at is not null as was_used, clock_timestamp() - t.used_at <= make_interval(secs => ?) as is_race
    from refresh_tokens t join sessions s on s.id = t.session_id
    where t.token_hash = ? and s.kind = 'login'`,
    [raceSeconds, hash],
  );
}

/**
 * Records on a live session that its user has just verified themselves, and how: `none` is the password. Returns false when the session has ended meanwhile.
 */
export async function markVerified(
  tx: TenantTransaction,
  { sessionId, mfaLevel }: { readonly sessionId: string; readonly mfaLevel: Session['mfaLevel'] },
): Promise<boolean> {
  const marked = await row(
    tx.em,
    'update sessions set verified_at = now(), mfa_level = ? where id = ?::uuid and revoked_at is null returning id',
    [mfaLevel, sessionId],
  );
  return marked !== null;
}
