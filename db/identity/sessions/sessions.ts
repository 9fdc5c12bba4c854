import { type Expression, sql } from 'kysely';
import { now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import { hasFactor } from '../people/users.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { newOpaqueToken, tokenHash } from '../factors/opaque-tokens.ts';
import type { Person } from '../people/people.ts';
import { liveSession } from './endings.ts';
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

const daysFromNow = (days: Expression<number>) => sql<string>`now() + make_interval(days => ${days})`;

const sessionColumns = [
  'id',
  'userId',
  'organizationId',
  'workspaceId',
  'kind',
  'deviceLabel',
  'userAgent',
  'ipTruncated',
  'mfaLevel',
  'verifiedAt',
  'createdAt',
  'lastSeenAt',
  'idleExpiresAt',
  'expiresAt',
] as const;

/** A login with its proof, the verified password or the challenge that was answered, and the session that it opens. */
interface Opening {
  readonly userId: string;
  readonly passwordHash: string | undefined;
  readonly challengeId: string | undefined;
  readonly sessionId: string;
  readonly deviceLabel: string | null;
  readonly userAgent: string;
  readonly networkAddress: string;
  readonly mfaLevel: Session['mfaLevel'];
  readonly idleDays: number;
  readonly absoluteDays: number;
  readonly refreshId: string;
  readonly refreshHash: Buffer;
}

const opening = prepared((p: ParametersOf<Opening>) =>
  query
    .with('standing', () => standingUser(p))
    .with('proven', (of) =>
      p.challengeId
        ? of
            .updateTable('auth_challenges')
            .from('standing')
            .set({ usedAt: now })
            .where('auth_challenges.id', '=', p.challengeId)
            .whereRef('auth_challenges.userId', '=', 'standing.id')
            .where('auth_challenges.purpose', '=', sql.lit('login'))
            .where('auth_challenges.usedAt', 'is', null)
            .where('auth_challenges.expiresAt', '>', now)
            .returning('auth_challenges.userId')
        : of
            .selectFrom('standing')
            .select('standing.id as userId')
            .where(({ not, ref }) => not(hasFactor(ref('standing.id')))),
    )
    .with('opened', (of) =>
      of
        .insertInto('sessions')
        .columns(sessionColumns)
        .expression(({ selectFrom }) =>
          selectFrom('standing')
            .select([sql`${p.sessionId}::uuid`.as('id'), 'standing.id as userId', 'standing.organizationId', 'standing.workspaceId'])
            .select([sql`'login'`.as('kind'), sql`${p.deviceLabel}::text`.as('deviceLabel'), sql`${p.userAgent}::text`.as('userAgent')])
            .select([sql`${p.networkAddress}::text`.as('ipTruncated'), sql`${p.mfaLevel}::text`.as('mfaLevel')])
            .select([now.as('verifiedAt'), now.as('createdAt'), now.as('lastSeenAt')])
            .select(daysFromNow(sql`least(${p.idleDays}::int, ${p.absoluteDays}::int)`).as('idleExpiresAt'))
            .select(daysFromNow(sql`${p.absoluteDays}::int`).as('expiresAt'))
            .where(({ exists, selectFrom }) => exists(selectFrom('proven').select('proven.userId'))),
        )
        .returning(['id', 'userId', 'organizationId', 'idleExpiresAt']),
    )
    .with('seen', (of) =>
      of
        .updateTable('users')
        .set(({ ref }) => ({ lastLoginAt: now, updatedAt: ref('updatedAt') }))
        .where('id', '=', ({ selectFrom }) => selectFrom('opened').select('opened.userId')),
    )
    .insertInto('refresh_tokens')
    .columns(['id', 'sessionId', 'userId', 'organizationId', 'tokenHash', 'createdAt', 'expiresAt'])
    .expression(({ selectFrom }) =>
      selectFrom('opened')
        .select([sql`${p.refreshId}::uuid`.as('id'), 'opened.id as sessionId', 'opened.userId', 'opened.organizationId'])
        .select([sql`${p.refreshHash}::bytea`.as('tokenHash'), now.as('createdAt'), 'opened.idleExpiresAt']),
    )
    .returning('expiresAt'),
);

/**
 * The user, if active and, with a password, if that is still theirs. User and credential are locked: a concurrent reset or deactivation comes either before,
 * or after and then sees the new session. A challenge is locked after them, as in every operation that ends sign-ins.
 */
function standingUser({ userId, passwordHash }: Pick<ParametersOf<Opening>, 'userId' | 'passwordHash'>) {
  const standing = query
    .selectFrom('users as u')
    .innerJoin('user_credentials as c', 'c.userId', 'u.id')
    .select(['u.id', 'u.organizationId', 'u.workspaceId'])
    .where('u.id', '=', userId)
    .where('u.isActive', '=', sql.lit(true))
    .where('u.deletedAt', 'is', null)
    .forNoKeyUpdate(['u', 'c']);
  return passwordHash ? standing.where('c.passwordHash', '=', passwordHash) : standing;
}

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
    ...begun
  }: { person: Pick<Person, 'id'>; passwordHash: string; sessionId: string; device: SessionDevice; lifetime: SessionLifetime },
): Promise<IssuedRefresh | null> {
  return open(tx, { userId: person.id, passwordHash, challengeId: undefined, mfaLevel: 'none', ...begun });
}

/** Uses up a login challenge and opens its session. Returns null when the challenge is dead: used, expired, or deleted with the password. */
export async function openVerifiedSession(
  tx: TenantTransaction,
  {
    person,
    challengeId,
    ...begun
  }: {
    person: Pick<Person, 'id'>;
    challengeId: string;
    device: SessionDevice;
    mfaLevel: Session['mfaLevel'];
    lifetime: SessionLifetime;
  },
): Promise<IssuedRefresh | null> {
  return open(tx, { userId: person.id, passwordHash: undefined, challengeId, sessionId: newId(), ...begun });
}

type Begun = Pick<Opening, 'userId' | 'passwordHash' | 'challengeId' | 'sessionId' | 'mfaLevel'> & {
  readonly device: SessionDevice;
  readonly lifetime: SessionLifetime;
};

async function open(tx: TenantTransaction, { device, lifetime, ...begun }: Begun): Promise<IssuedRefresh | null> {
  const refreshToken = newOpaqueToken('refresh');
  const { label: deviceLabel, userAgent, networkAddress } = device;
  const refresh = { refreshId: newId(), refreshHash: tokenHash(refreshToken) };
  const issued = await row(tx.em, opening({ ...begun, ...lifetime, deviceLabel, userAgent, networkAddress, ...refresh }));

  return issued && { sessionId: begun.sessionId, refreshToken, refreshExpiresAt: issued.expiresAt };
}

interface Rotation {
  readonly hash: Buffer;
  /** The app to which the session belongs; undefined for the session of a login. */
  readonly clientId: string | undefined;
  readonly idleDays: number;
  readonly nextId: string;
  readonly nextHash: Buffer;
}

const rotating = prepared(({ hash, clientId, idleDays, nextId, nextHash }: ParametersOf<Rotation>) =>
  query
    .with('used', (of) =>
      of
        .updateTable('refresh_tokens')
        .from('sessions as s')
        .set({ usedAt: now })
        .where('refresh_tokens.tokenHash', '=', hash)
        .where('refresh_tokens.usedAt', 'is', null)
        .where('refresh_tokens.expiresAt', '>', now)
        .whereRef('s.id', '=', 'refresh_tokens.sessionId')
        .where('s.kind', '=', clientId ? sql.lit('oauth') : sql.lit('login'))
        .where(({ eb, and }) => (clientId ? eb('s.clientId', '=', clientId) : and([])))
        .where(liveSession('s'))
        .returning(['refresh_tokens.id', 'refresh_tokens.sessionId', 'refresh_tokens.userId', 'refresh_tokens.organizationId'])
        .returning('refresh_tokens.oauthScope'),
    )
    .with('touched', (of) =>
      of
        .updateTable('sessions')
        .from('used')
        .set(({ ref }) => ({
          lastSeenAt: now,
          idleExpiresAt: sql<string>`least(${daysFromNow(sql`${idleDays}::int`)}, ${ref('sessions.expiresAt')})`,
        }))
        .whereRef('sessions.id', '=', 'used.sessionId')
        .where('sessions.revokedAt', 'is', null)
        .returning(['sessions.id', 'sessions.idleExpiresAt']),
    )
    .insertInto('refresh_tokens')
    .columns(['id', 'sessionId', 'userId', 'organizationId', 'tokenHash', 'oauthScope', 'parentId', 'createdAt', 'expiresAt'])
    .expression(({ selectFrom }) =>
      selectFrom('used')
        .innerJoin('touched', 'touched.id', 'used.sessionId')
        .select([sql`${nextId}::uuid`.as('id'), 'used.sessionId', 'used.userId', 'used.organizationId'])
        .select([sql`${nextHash}::bytea`.as('tokenHash'), 'used.oauthScope', 'used.id as parentId'])
        .select([now.as('createdAt'), 'touched.idleExpiresAt']),
    )
    .returning(['sessionId', 'expiresAt']),
);

/**
 * Uses up the refresh token of a login, or of a grant to the app `clientId`, and issues its successor with the same OAuth scopes, by the database's clock: of
 * any number of concurrent calls one wins. Only the winner gets the successor. Returns null for a loser, who is judged in the same transaction.
 */
export async function rotateRefresh(
  tx: TenantTransaction,
  { hash, clientId, idleDays }: { hash: Buffer; clientId?: string; idleDays: number },
): Promise<IssuedRefresh | null> {
  const refreshToken = newOpaqueToken('refresh');
  const issued = await row(tx.em, rotating({ hash, clientId, idleDays, nextId: newId(), nextHash: tokenHash(refreshToken) }));

  return issued && { sessionId: issued.sessionId, refreshToken, refreshExpiresAt: issued.expiresAt };
}

const refreshState = prepared(({ hash, raceSeconds }: ParametersOf<{ readonly hash: Buffer; readonly raceSeconds: number }>) =>
  query
    .selectFrom('refresh_tokens as t')
    .innerJoin('sessions as s', 's.id', 't.sessionId')
    .select(({ eb, ref }) => [
      eb('s.revokedAt', 'is not', null).$castTo<boolean>().as('isRevoked'),
      sql<boolean>`least(${ref('s.idleExpiresAt')}, ${ref('s.expiresAt')}) <= now()`.as('isOver'),
      eb('t.usedAt', 'is not', null).$castTo<boolean>().as('wasUsed'),
      sql<boolean | null>`clock_timestamp() - ${ref('t.usedAt')} <= make_interval(secs => ${raceSeconds})`.as('isRace'),
    ])
    .where('t.tokenHash', '=', hash)
    .where('s.kind', '=', sql.lit('login')),
);

/**
 * Returns the state of a login's refresh token and of its session, or null for an unknown token. `isRace`: it was used so recently that this is a lost race;
 * null where it was not used.
 */
export async function findRefreshState(tx: TenantTransaction, hash: Buffer, raceSeconds: number) {
  return row(tx.em, refreshState({ hash, raceSeconds }));
}

interface Verified {
  readonly sessionId: string;
  readonly mfaLevel: Session['mfaLevel'];
}

const marking = prepared(({ sessionId, mfaLevel }: ParametersOf<Verified>) =>
  query
    .updateTable('sessions')
    .set({ verifiedAt: now, mfaLevel })
    .where('id', '=', sessionId)
    .where('revokedAt', 'is', null)
    .returning('id'),
);

/**
 * Records on a live session that its user has just verified themselves, and how: `none` is the password. Returns false when the session has ended meanwhile.
 */
export async function markVerified(tx: TenantTransaction, { sessionId, mfaLevel }: Verified): Promise<boolean> {
  return (await row(tx.em, marking({ sessionId, mfaLevel }))) !== null;
}
