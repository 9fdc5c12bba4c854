import { sql } from 'kysely';
import { newId } from '../../ids.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import { hasFactor } from '../people/users.ts';
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

interface Opened {
  readonly id: string;
  readonly userId: string;
  readonly passwordHash: string;
  readonly deviceLabel: string | null;
}

const opening = prepared(({ id, userId, passwordHash, deviceLabel }: ParametersOf<Opened>) =>
  query
    .with('standing', (of) =>
      of
        .selectFrom('users as u')
        .innerJoin('user_credentials as c', 'c.userId', 'u.id')
        .select(['u.id', 'u.organizationId'])
        .where('u.id', '=', userId)
        .where('c.passwordHash', '=', passwordHash)
        .where('u.isActive', '=', sql.lit(true))
        .where('u.deletedAt', 'is', null)
        .forNoKeyUpdate(['u', 'c']),
    )
    .insertInto('auth_challenges')
    .columns(['id', 'purpose', 'userId', 'organizationId', 'attempts', 'payload', 'createdAt', 'expiresAt'])
    .expression(({ selectFrom }) =>
      selectFrom('standing')
        .select([sql`${id}::uuid`.as('id'), sql`'login'`.as('purpose'), 'standing.id as userId', 'standing.organizationId'])
        .select([sql`0`.as('attempts'), sql`jsonb_build_object('device_label', ${deviceLabel}::text)`.as('payload')])
        .select([sql`now()`.as('createdAt'), sql`now() + make_interval(mins => ${sql.lit(challengeMinutes)})`.as('expiresAt')])
        .where(({ ref }) => hasFactor(ref('standing.id'))),
    )
    .returning('expiresAt')
    .returning(({ exists, selectFrom }) =>
      exists(
        selectFrom('recovery_codes as r')
          .select('r.codeHash')
          .whereRef('r.userId', '=', 'auth_challenges.userId')
          .where('r.usedAt', 'is', null),
      )
        .$castTo<boolean>()
        .as('hasRecoveryCodes'),
    ),
);

/**
 * Opens the challenge of a user with a confirmed factor. Returns null when the verified password is no longer the stored one, or the user has been deactivated
 * or lost the factor meanwhile.
 */
export async function openChallenge(
  tx: TenantTransaction,
  { userId, passwordHash, deviceLabel }: Omit<Opened, 'id'>,
): Promise<LoginChallenge | null> {
  const id = newId();
  const opened = await row(tx.em, opening({ id, userId, passwordHash, deviceLabel }));

  return opened && { id, ...opened };
}

interface Tried {
  readonly challengeId: string;
  readonly userId: string;
}

const counting = prepared(({ challengeId, userId }: ParametersOf<Tried>) =>
  query
    .updateTable('auth_challenges')
    .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
    .where('id', '=', challengeId)
    .where('userId', '=', userId)
    .where('purpose', '=', sql.lit('login'))
    .where('usedAt', 'is', null)
    .where('expiresAt', '>', sql<string>`now()`)
    .where('attempts', '<', maxTries)
    .returning(({ ref, selectFrom }) => [
      sql<string | null>`${ref('payload')} ->> 'device_label'`.as('deviceLabel'),
      selectFrom('totp_factors as f')
        .select('f.secretEnc')
        .whereRef('f.userId', '=', 'auth_challenges.userId')
        .where('f.confirmedAt', 'is not', null)
        .as('encryptedFactor'),
    ]),
);

/** What a counted try needs for its verification. */
export type CountedTry = NonNullable<Awaited<ReturnType<typeof countTry>>>;

/**
 * Counts a try before its code is checked, so that concurrent tries cannot exceed the limit. Returns what its verification needs: the label of the device, and
 * the confirmed factor of the user, encrypted, or null without one. Returns null when the challenge is dead.
 */
export async function countTry(tx: TenantTransaction, { challengeId, userId }: Tried) {
  return row(tx.em, counting({ challengeId, userId }));
}
