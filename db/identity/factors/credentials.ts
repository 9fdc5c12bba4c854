import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
import { hasFactor } from '../people/users.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The credential of a signed-in user, with what a new password is checked against. */
export type OwnCredential = NonNullable<Awaited<ReturnType<typeof findCredential>>>;

const credentialOf = prepared(({ userId }: ParametersOf<{ readonly userId: string | null }>) =>
  query
    .selectFrom('users as u')
    .leftJoin('user_credentials as c', 'c.userId', 'u.id')
    .select(['c.passwordHash', 'u.email', 'u.fullName'])
    .select(({ ref }) => hasFactor(ref('u.id')).as('hasFactor'))
    .where('u.id', '=', sql<string>`${userId}::uuid`)
    .where('u.deletedAt', 'is', null),
);

/** Returns the credential of a user, or null when the user no longer exists. */
export async function findCredential(tx: TenantTransaction, userId: string | null) {
  return row(tx.em, credentialOf({ userId }));
}

/** Replaces a password; returns false when `from` is no longer the stored hash. */
export async function replacePassword(
  tx: TenantTransaction,
  { userId, from, to }: { readonly userId: string; readonly from: string; readonly to: string },
): Promise<boolean> {
  const changed = await change(
    tx.em,
    query
      .updateTable('user_credentials')
      .set({ passwordHash: to, passwordChangedAt: now, updatedAt: now })
      .where('userId', '=', userId)
      .where('passwordHash', '=', from),
  );
  return changed > 0;
}

/** Stores a password and marks the address as verified. */
export async function setPassword(tx: TenantTransaction, userId: string, passwordHash: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('user_credentials')
      .set(({ fn }) => ({ passwordHash, passwordChangedAt: now, updatedAt: now, emailVerifiedAt: fn.coalesce('emailVerifiedAt', now) }))
      .where('userId', '=', userId),
  );
}

interface Rehash {
  readonly userId: string;
  readonly from: string;
  readonly to: string;
}

const rehashing = prepared(({ userId, from, to }: ParametersOf<Rehash>) =>
  query
    .updateTable('user_credentials')
    // The password stays the same: so does `updatedAt`.
    .set(({ ref }) => ({ passwordHash: to, updatedAt: ref('updatedAt') }))
    .where('userId', '=', userId)
    .where('passwordHash', '=', from),
);

/** Replaces an outdated password hash by one made with today's parameters, if it is still the stored one. */
export async function replaceOutdatedHash(tx: TenantTransaction, { userId, from, to }: Rehash): Promise<void> {
  await change(tx.em, rehashing({ userId, from, to }));
}
