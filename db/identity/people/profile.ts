import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A user's own row, locked for a change. */
export type Profile = NonNullable<Awaited<ReturnType<typeof findProfile>>>;

/** Returns a user's own row, locked, or null when it no longer exists. `emailDomains`: those that the organization allows; empty allows any. */
export async function findProfile(tx: TenantTransaction, userId: string) {
  return row(
    tx.em,
    query
      .selectFrom('users as u')
      .leftJoin('user_credentials as c', 'c.userId', 'u.id')
      .leftJoin('organization_settings as st', 'st.organizationId', 'u.organizationId')
      .select(['u.id as userId', 'u.version', 'u.email', 'u.fullName', 'u.locale', 'u.organizationId', 'u.workspaceId', 'c.pendingEmail'])
      .select(({ eb, ref }) => [
        eb('c.emailVerifiedAt', 'is not', null).$castTo<boolean>().as('isEmailVerified'),
        sql<string[]>`coalesce(${ref('st.allowedEmailDomains')}, '{}')`.as('emailDomains'),
      ])
      .where('u.id', '=', userId)
      .where('u.deletedAt', 'is', null)
      .forNoKeyUpdate('u'),
  );
}

/** Writes name and locale if the row still has this version; returns false when it has another. */
export async function writeNames(
  tx: TenantTransaction,
  profile: Pick<Profile, 'userId' | 'version'>,
  { fullName, locale }: { readonly fullName: string | null; readonly locale: string | null },
): Promise<boolean> {
  const written = await change(
    tx.em,
    query
      .updateTable('users')
      .set(({ eb }) => ({ fullName, locale, version: eb('version', '+', 1), updatedAt: sql<string>`clock_timestamp()` }))
      .where('id', '=', profile.userId)
      .where('version', '=', profile.version),
  );
  return written > 0;
}

/** Cancels a change of address. */
export async function cancelAddress(tx: TenantTransaction, userId: string): Promise<void> {
  await change(
    tx.em,
    query
      .with('asked', (of) =>
        of.deleteFrom('auth_challenges').where('userId', '=', userId).where('purpose', '=', 'email_confirm').where('usedAt', 'is', null),
      )
      .updateTable('user_credentials')
      .set({ pendingEmail: null, updatedAt: now })
      .where('userId', '=', userId),
  );
}

/** Marks the pending address as verified; returns false when it is no longer the pending one. */
export async function confirmPending(tx: TenantTransaction, userId: string, email: string | null): Promise<boolean> {
  const confirmed = await change(
    tx.em,
    query
      .updateTable('user_credentials')
      .set({ emailVerifiedAt: now, pendingEmail: null, updatedAt: now })
      .where('userId', '=', userId)
      .where('pendingEmail', '=', sql<string>`${email}::text`),
  );
  return confirmed > 0;
}

/** Writes a user's address, and deletes password resets mailed to the old one. A taken address is 409 `already_exists`. */
export async function writeAddress(tx: TenantTransaction, userId: string, email: string | null): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('users')
      .set(({ eb }) => ({ email: sql<string>`${email}`, version: eb('version', '+', 1), updatedAt: sql<string>`clock_timestamp()` }))
      .where('id', '=', userId)
      .where('deletedAt', 'is', null),
  );
  await change(
    tx.em,
    query.deleteFrom('auth_challenges').where('userId', '=', userId).where('purpose', '=', 'password_reset').where('usedAt', 'is', null),
  );
}
