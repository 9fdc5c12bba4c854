import { change, iso, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Minutes in which a new factor must be confirmed. */
const confirmMinutes = 15;

/** A second factor as it is stored, with its secret decrypted. */
export interface StoredFactor {
  readonly secret: string;
  readonly sealed: Buffer;
  readonly isConfirmed: boolean;
  readonly isOver: boolean;
}

/** Whose factor it is, and in whose organization the row lies (null: an operator's). */
export interface FactorScope {
  readonly userId: string;
  readonly organizationId: string | null;
}

/** Stores an unconfirmed factor, replacing an older unconfirmed one. Returns its expiry, or null when there is a confirmed one. */
export async function writeFactor(tx: TenantTransaction, place: FactorScope & { readonly sealed: Buffer }): Promise<string | null> {
  const stored = await row<{ expires_at: string }>(
    tx.em,
    `insert into totp_factors (user_id, organization_id, secret_enc, created_at, expires_at)
     values (?::uuid, ?::uuid, ?, now(), now() + make_interval(mins => ${confirmMinutes}))
     on conflict (user_id) do update set secret_enc = excluded.secret_enc, created_at = now(), expires_at = excluded.expires_at, last_step = null
       where totp_factors.confirmed_at is null
     returning expires_at`,
    [place.userId, place.organizationId, place.sealed],
  );
  return stored && iso(stored.expires_at);
}

/** Returns the factor of a user as it is stored, or null without one. */
export async function findFactor(tx: TenantTransaction, userId: string): Promise<Omit<StoredFactor, 'secret'> | null> {
  const found = await row<{ secret_enc: Buffer; is_confirmed: boolean; is_over: boolean }>(
    tx.em,
    `select secret_enc, confirmed_at is not null as is_confirmed, coalesce(expires_at <= now(), false) as is_over
     from totp_factors where user_id = ?::uuid`,
    [userId],
  );
  return found && { sealed: found.secret_enc, isConfirmed: found.is_confirmed, isOver: found.is_over };
}

/**
 * Spends the time step of a matching code (RFC 6238 §5.2): this step and earlier ones are never accepted again. Returns false when it was spent before, also by
 * a concurrent request with the same code, or when the factor was replaced or removed meanwhile.
 */
export async function spendStep(
  tx: TenantTransaction,
  { userId, sealed, step }: { readonly userId: string; readonly sealed: Buffer; readonly step: number },
): Promise<boolean> {
  const spent = await change(
    tx.em,
    'update totp_factors set last_step = ? where user_id = ?::uuid and secret_enc = ? and confirmed_at is not null and coalesce(last_step, -1) < ?',
    [step, userId, sealed, step],
  );
  return spent === 1;
}

/** What is stored with the factor whose code was right. */
export interface ConfirmedFactor {
  readonly userId: string;
  readonly sessionId: string;
  readonly sealed: Buffer;
  readonly step: number;
  readonly codeHashes: readonly Buffer[];
}

/**
 * Confirms a factor with its recovery codes, and records that on the session. The credential row is updated as well, so that this waits for a concurrent
 * sign-in by password alone, or that sign-in sees the factor.
 */
export function writeConfirmed(
  tx: TenantTransaction,
  { userId, sessionId, sealed, step, codeHashes }: ConfirmedFactor,
): Promise<{ readonly is_confirmed: boolean; readonly is_live: boolean; readonly at: string } | null> {
  return row<{ is_confirmed: boolean; is_live: boolean; at: string }>(
    tx.em,
    `with confirmed as (
       update totp_factors set confirmed_at = now(), expires_at = null, last_step = ?
       where user_id = ?::uuid and secret_enc = ? and confirmed_at is null returning user_id, organization_id),
     codes as (
       insert into recovery_codes (user_id, code_hash, organization_id, created_at)
       select user_id, hash, organization_id, now() from confirmed cross join unnest(?::bytea[]) as hash),
     held as (update user_credentials c set updated_at = now() from confirmed where c.user_id = confirmed.user_id returning c.user_id),
     verified as (
       update sessions s set verified_at = now(), mfa_level = 'totp' from held
       where s.id = ?::uuid and s.user_id = held.user_id and s.revoked_at is null returning s.id)
     select exists (select from confirmed) as is_confirmed, exists (select from verified) as is_live, now() as at`,
    [step, userId, sealed, codeHashes, sessionId],
  );
}

/** Returns whether a user has a confirmed factor, which is locked, and whether the organization requires one. */
export async function lockFactor(
  tx: TenantTransaction,
  { userId, organizationId }: FactorScope,
): Promise<{ readonly isConfirmed: boolean; readonly isRequired: boolean }> {
  const factor = await row<{ is_confirmed: boolean; is_required: boolean | null }>(
    tx.em,
    `select confirmed_at is not null as is_confirmed,
       (select require_mfa from organization_settings where organization_id = ?::uuid) as is_required
     from totp_factors where user_id = ?::uuid for update`,
    [organizationId, userId],
  );

  return { isConfirmed: factor?.is_confirmed ?? false, isRequired: factor?.is_required ?? false };
}

/**
 * Deletes factor and recovery codes. No session counts as verified by them any more: what an old factor has proved says nothing about a new one. Returns the
 * number of deleted rows.
 */
export async function deleteFactor(tx: TenantTransaction, userId: string): Promise<number> {
  const gone = await row<{ count: number }>(
    tx.em,
    `with codes as (delete from recovery_codes where user_id = ?::uuid returning user_id),
       factor as (delete from totp_factors where user_id = ?::uuid returning user_id),
       gone as (select count(*)::int as count from (select from codes union all select from factor) as deleted),
       held as (update user_credentials c set updated_at = now() from gone where c.user_id = ?::uuid and gone.count > 0 returning c.user_id),
       unverified as (update sessions s set mfa_level = 'none' from held where s.user_id = held.user_id and s.mfa_level <> 'none')
     select count from gone`,
    [userId, userId, userId],
  );
  return gone?.count ?? 0;
}
