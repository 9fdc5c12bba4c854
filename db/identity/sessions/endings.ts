import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Why sessions of a person end. */
export type EndReason =
  | 'logout'
  | 'revoked'
  | 'password_changed'
  | 'password_reset'
  | 'factor_added'
  | 'factor_removed'
  | 'refresh_reuse'
  | 'code_reuse'
  | 'client_revoked'
  | 'deactivation'
  | 'deletion';

/** A session that is neither revoked nor expired; `table`: its alias, or the table itself. */
export function liveSession(table: 's' | 'sessions') {
  const column = (name: string) => sql.ref(`${table}.${name}`);
  return sql<boolean>`(${column('revokedAt')} is null and least(${column('idleExpiresAt')}, ${column('expiresAt')}) > now())`;
}

interface Ending {
  readonly userId: string;
  /** The session that stays. */
  readonly exceptSessionId?: string | null;
  readonly reason: EndReason;
}

interface EndedSignIns {
  readonly userId: string;
  readonly exceptSessionId: string | undefined;
  readonly reason: EndReason;
}

const endingSignIns = prepared(({ userId, exceptSessionId, reason }: ParametersOf<EndedSignIns>) => {
  const ended = query
    .with('answered', (of) => of.deleteFrom('auth_challenges').where('userId', '=', userId).where('usedAt', 'is', null))
    .with('wanted', (of) =>
      of
        .updateTable('user_credentials')
        .set(({ ref }) => ({ pendingEmail: null, updatedAt: ref('updatedAt') }))
        .where('userId', '=', userId)
        .where('pendingEmail', 'is not', null),
    )
    .with('approved', (of) => of.deleteFrom('oauth_codes').where('userId', '=', userId).where('usedAt', 'is', null))
    .updateTable('sessions')
    .set({ revokedAt: now, revokeReason: reason })
    .where('userId', '=', userId)
    .where(liveSession('sessions'))
    .returning('id');
  return exceptSessionId ? ended.where('id', '<>', exceptSessionId) : ended;
});

/**
 * Ends everything a person, or an impersonator of theirs, is signed in with or could still sign in with: sessions and connected apps with their tokens, unused
 * stream tokens and open streams, incomplete sign-ins, unused codes and links of mails, and a pending change of address, whoever asked for it. Keys are ended
 * elsewhere (`endOwnThings` of `domain/tenancy/user-changes.ts`). Returns the ids of the sessions that this call has ended.
 *
 * An earlier statement has locked the user or their credential: every sign-in locks both, every approval and change of address the credential. So this one
 * statement sees everything that came before, and whatever comes after finds nothing to continue with.
 */
export async function endSignInsOf(tx: TenantTransaction, { userId, exceptSessionId, reason }: Ending): Promise<string[]> {
  const ended = await rows(tx.em, endingSignIns({ userId, exceptSessionId: exceptSessionId ?? undefined, reason }));
  const ids = ended.map(({ id }) => id);

  tx.outgoing.revoked.push(`user:${userId}`, ...ids.map((id) => `session:${id}`));
  return ids;
}

/** Locks what every sign-in of a person locks, before all of theirs are ended. */
export async function lockSignInsOf(tx: TenantTransaction, userId: string): Promise<void> {
  await row(tx.em, query.selectFrom('user_credentials').select('userId').where('userId', '=', userId).forNoKeyUpdate());
}

interface EndedSession {
  readonly sessionId: string;
  readonly reason: EndReason;
  readonly isLogout: boolean;
}

const revoking = prepared(({ sessionId, reason, isLogout }: ParametersOf<EndedSession>) =>
  query
    .with('ended', (of) =>
      of
        .updateTable('sessions')
        .set({ revokedAt: now, revokeReason: reason })
        .where('id', '=', sessionId)
        .where('revokedAt', 'is', null)
        .returning('id'),
    )
    .with('asked', (of) =>
      of
        .deleteFrom('auth_challenges as c')
        .using('sessions as s')
        .where('s.id', '=', sessionId)
        .whereRef('c.userId', '=', 's.userId')
        .where('c.purpose', '=', sql.lit('email_confirm'))
        .where(({ eb, fn, ref }) => eb(fn.coalesce('c.sessionId', 's.id'), '=', ref('s.id')))
        .where('c.usedAt', 'is', null)
        .returning('c.userId'),
    )
    .with('wanted', (of) =>
      of
        .updateTable('user_credentials')
        .set(({ ref }) => ({ pendingEmail: null, updatedAt: ref('updatedAt') }))
        .where('userId', 'in', ({ selectFrom }) => selectFrom('asked').select('asked.userId')),
    )
    .with('approved', (of) =>
      of
        .deleteFrom('oauth_codes as a')
        .using('sessions as s')
        .where('s.id', '=', sessionId)
        .whereRef('a.userId', '=', 's.userId')
        .whereRef('a.approverSessionId', '=', 's.id')
        .where('a.usedAt', 'is', null)
        .where(sql<boolean>`not ${isLogout}::boolean`),
    )
    .selectFrom('ended')
    .select(sql<number>`count(*)::int`.as('ended')),
);

/**
 * Ends one session or grant with its access tokens, refresh tokens, unused stream tokens and open streams, and what was asked for in it: a change of address,
 * codes. Codes that its holder leaves behind by signing out stay: the consent page signs out before the app exchanges its code. A change of address whose
 * session is unknown ends with any session. Returns false when the session was already ended.
 */
export async function revokeSession(
  tx: TenantTransaction,
  { sessionId, reason }: { readonly sessionId: string; readonly reason: EndReason },
): Promise<boolean> {
  const done = await row(tx.em, revoking({ sessionId, reason, isLogout: reason === 'logout' }));

  tx.outgoing.revoked.push(`session:${sessionId}`);
  return done !== null && done.ended > 0;
}

/** Erases what a user signs in with: one statement deletes the rows themselves. The user is locked. */
export async function eraseCredentialsOf(tx: TenantTransaction, { userId }: Pick<Ending, 'userId'>): Promise<void> {
  const erased = await rows(
    tx.em,
    query
      .with('challenges', (of) => of.deleteFrom('auth_challenges').where('userId', '=', userId))
      .with('recovery', (of) => of.deleteFrom('recovery_codes').where('userId', '=', userId))
      .with('factors', (of) => of.deleteFrom('totp_factors').where('userId', '=', userId))
      .with('credentials', (of) => of.deleteFrom('user_credentials').where('userId', '=', userId))
      .with('codes', (of) => of.deleteFrom('oauth_codes').where('userId', '=', userId))
      .with('refreshes', (of) => of.deleteFrom('refresh_tokens').where('userId', '=', userId))
      .deleteFrom('sessions')
      .where('userId', '=', userId)
      .returning('id'),
  );

  tx.outgoing.revoked.push(`user:${userId}`, ...erased.map(({ id }) => `session:${id}`));
}
