import { newId } from '../../ids.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Minutes in which a sign-in may be completed, and how many codes may be tried. */
const challengeMinutes = 5;
const maxTries = 5;

/** An incomplete sign-in: the password was right, the second factor is still missing. */
export interface LoginChallenge {
  readonly id: string;
  readonly expiresAt: Date | string;
  readonly hasRecoveryCodes: boolean;
}

/**
 * Opens the challenge of a user with a confirmed factor. Returns null when the verified password is no longer the stored one, or the user has been deactivated
 * or lost the factor meanwhile.
 */
export async function openChallenge(
  tx: TenantTransaction,
  { userId, passwordHash, deviceLabel }: { readonly userId: string; readonly passwordHash: string; readonly deviceLabel: string | null },
): Promise<LoginChallenge | null> {
  const id = newId();
  const opened = await row<{ expires_at: Date | string; has_codes: boolean }>(
    tx.em,
    `with standing as (
       select u.id, u.organization_id from users u join user_credentials c on c.user_id = u.id
       where u.id = ?::uuid and c.password_hash = ? and u.is_active and u.deleted_at is null
       for no key update of u, c)
     insert into auth_challenges (id, purpose, user_id, organization_id, attempts, payload, created_at, expires_at)
     select ?::uuid, 'login', id, organization_id, 0, jsonb_build_object('device_label', ?::text), now(),
       now() + make_interval(mins => ${challengeMinutes})
     from standing where exists (select from totp_factors f where f.user_id = standing.id and f.confirmed_at is not null)
     returning expires_at, exists (select from recovery_codes r where r.user_id = auth_challenges.user_id and r.used_at is null) as has_codes`,
    [userId, passwordHash, id, deviceLabel],
  );

  return opened && { id, expiresAt: opened.expires_at, hasRecoveryCodes: opened.has_codes };
}

/** What a counted try needs for its verification. */
export interface CountedTry {
  readonly deviceLabel: string | null;
  /** The confirmed factor of the user, encrypted; null without one. */
  readonly sealedFactor: Buffer | null;
}

/** Counts a try before its code is checked, so that concurrent tries cannot exceed the limit. Returns null when the challenge is dead. */
export async function countTry(
  tx: TenantTransaction,
  { challengeId, userId }: { readonly challengeId: string; readonly userId: string },
): Promise<CountedTry | null> {
  const counted = await row<{ device_label: string | null; sealed_factor: Buffer | null }>(
    tx.em,
    `update auth_challenges set attempts = attempts + 1
      where id = ?::uuid and user_id = ?::uuid and purpose = 'login' and used_at is null and expires_at > now() and attempts < ${maxTries}
     returning payload ->> 'device_label' as device_label,
       (select f.secret_enc from totp_factors f where f.user_id = auth_challenges.user_id and f.confirmed_at is not null) as sealed_factor`,
    [challengeId, userId],
  );

  return counted && { deviceLabel: counted.device_label, sealedFactor: counted.sealed_factor };
}
