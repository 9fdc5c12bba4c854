import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, iso, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Minutes in which a new factor must be confirmed. */
const confirmMinutes = 15;

/** A second factor as it is stored, with its secret decrypted. */
export interface StoredFactor {
  readonly secret: string;
  readonly encrypted: Buffer;
  readonly isConfirmed: boolean;
  readonly isOver: boolean;
}

/** Whose factor it is, and in whose organization the row lies (null: an operator's). */
export interface FactorScope {
  readonly userId: string;
  readonly organizationId: string | null;
}

/** Stores an unconfirmed factor, replacing an older unconfirmed one. Returns its expiry, or null when there is a confirmed one. */
export async function writeFactor(
  tx: TenantTransaction,
  { userId, organizationId, encrypted }: FactorScope & { readonly encrypted: Buffer },
): Promise<string | null> {
  const stored = await row(
    tx.em,
    query
      .insertInto('totp_factors')
      .values({
        userId,
        organizationId,
        secretEnc: encrypted,
        createdAt: now,
        expiresAt: sql<string>`now() + make_interval(mins => ${confirmMinutes})`,
      })
      .onConflict((conflict) =>
        conflict
          .column('userId')
          .doUpdateSet(({ ref }) => ({
            secretEnc: ref('excluded.secretEnc'),
            createdAt: now,
            expiresAt: ref('excluded.expiresAt'),
            lastStep: null,
          }))
          .where('totp_factors.confirmedAt', 'is', null),
      )
      .returning(({ ref }) => ref('expiresAt').$notNull().as('expiresAt')),
  );
  return stored && iso(stored.expiresAt);
}

/** Returns the factor of a user as it is stored, or null without one. */
export async function findFactor(tx: TenantTransaction, userId: string): Promise<Omit<StoredFactor, 'secret'> | null> {
  return row(
    tx.em,
    query
      .selectFrom('totp_factors')
      .select(({ eb, ref }) => [
        'secretEnc as encrypted',
        eb('confirmedAt', 'is not', null).$castTo<boolean>().as('isConfirmed'),
        sql<boolean>`coalesce(${ref('expiresAt')} <= now(), false)`.as('isOver'),
      ])
      .where('userId', '=', userId),
  );
}

interface SpentStep {
  readonly userId: string;
  readonly encrypted: Buffer;
  readonly step: number;
}

const spending = prepared(({ userId, encrypted, step }: ParametersOf<SpentStep>) =>
  query
    .updateTable('totp_factors')
    .set({ lastStep: step })
    .where('userId', '=', userId)
    .where('secretEnc', '=', encrypted)
    .where('confirmedAt', 'is not', null)
    .where(({ eb, fn, lit }) => eb(fn.coalesce('lastStep', lit(-1)), '<', step)),
);

/**
 * Spends the time step of a matching code (RFC 6238 §5.2): this step and earlier ones are never accepted again. Returns false when it was spent before, also by
 * a concurrent request with the same code, or when the factor was replaced or removed meanwhile.
 */
export async function spendStep(tx: TenantTransaction, { userId, encrypted, step }: SpentStep): Promise<boolean> {
  return (await change(tx.em, spending({ userId, encrypted, step }))) === 1;
}

/** What is stored with the factor whose code was right. */
export interface ConfirmedFactor {
  readonly userId: string;
  readonly sessionId: string;
  readonly encrypted: Buffer;
  readonly step: number;
  readonly codeHashes: readonly Buffer[];
}

/**
 * Confirms a factor with its recovery codes, and records that on the session; returns whether each was done, and when. The credential row is updated as well,
 * so that this waits for a concurrent sign-in by password alone, or that sign-in sees the factor.
 */
export async function writeConfirmed(tx: TenantTransaction, { userId, sessionId, encrypted, step, codeHashes }: ConfirmedFactor) {
  return row(
    tx.em,
    query
      .with('confirmed', (of) =>
        of
          .updateTable('totp_factors')
          .set({ confirmedAt: now, expiresAt: null, lastStep: step })
          .where('userId', '=', userId)
          .where('secretEnc', '=', encrypted)
          .where('confirmedAt', 'is', null)
          .returning(['userId', 'organizationId']),
      )
      .with('codes', (of) =>
        of
          .insertInto('recovery_codes')
          .columns(['userId', 'codeHash', 'organizationId', 'createdAt'])
          .expression(({ selectFrom }) =>
            selectFrom('confirmed')
              .crossJoin(unnested(codeHashes))
              .select(['confirmed.userId', 'made.hash', 'confirmed.organizationId', now.as('createdAt')]),
          ),
      )
      .with('held', (of) =>
        of
          .updateTable('user_credentials')
          .from('confirmed')
          .set({ updatedAt: now })
          .whereRef('user_credentials.userId', '=', 'confirmed.userId')
          .returning('user_credentials.userId'),
      )
      .with('verified', (of) =>
        of
          .updateTable('sessions')
          .from('held')
          .set({ verifiedAt: now, mfaLevel: 'totp' })
          .where('sessions.id', '=', sessionId)
          .whereRef('sessions.userId', '=', 'held.userId')
          .where('sessions.revokedAt', 'is', null)
          .returning('sessions.id'),
      )
      .selectNoFrom(({ exists, selectFrom }) => [
        exists(selectFrom('confirmed').select('confirmed.userId')).$castTo<boolean>().as('isConfirmed'),
        exists(selectFrom('verified').select('verified.id')).$castTo<boolean>().as('isLive'),
        now.as('at'),
      ]),
  );
}

/** The digests of recovery codes as rows. */
export function unnested(hashes: readonly Buffer[]) {
  return sql<{ hash: Buffer }>`unnest(${hashes}::bytea[])`.as<'made'>(sql`made (hash)`);
}

/** Returns whether a user has a confirmed factor, which is locked, and whether the organization requires one. */
export async function lockFactor(
  tx: TenantTransaction,
  { userId, organizationId }: FactorScope,
): Promise<{ readonly isConfirmed: boolean; readonly isRequired: boolean }> {
  const factor = await row(
    tx.em,
    query
      .selectFrom('totp_factors')
      .select(({ eb, selectFrom }) => [
        eb('confirmedAt', 'is not', null).$castTo<boolean>().as('isConfirmed'),
        selectFrom('organization_settings as s')
          .select('s.requireMfa')
          .where('s.organizationId', '=', sql<string>`${organizationId}::uuid`)
          .as('isRequired'),
      ])
      .where('userId', '=', userId)
      .forUpdate(),
  );

  return { isConfirmed: factor?.isConfirmed ?? false, isRequired: factor?.isRequired ?? false };
}

/**
 * Deletes factor and recovery codes. No session counts as verified by them any more: what an old factor has proved says nothing about a new one. Returns the
 * number of deleted rows.
 */
export async function deleteFactor(tx: TenantTransaction, userId: string): Promise<number> {
  const gone = await row(
    tx.em,
    query
      .with('codes', (of) => of.deleteFrom('recovery_codes').where('userId', '=', userId).returning('userId'))
      .with('factor', (of) => of.deleteFrom('totp_factors').where('userId', '=', userId).returning('userId'))
      .with('gone', () =>
        query.selectNoFrom(
          sql<number>`(select count(*)::int from (select from codes union all select from factor) as deleted)`.as('count'),
        ),
      )
      .with('held', (of) =>
        of
          .updateTable('user_credentials')
          .from('gone')
          .set({ updatedAt: now })
          .where('user_credentials.userId', '=', userId)
          .where('gone.count', '>', 0)
          .returning('user_credentials.userId'),
      )
      .with('unverified', (of) =>
        of
          .updateTable('sessions')
          .from('held')
          .set({ mfaLevel: 'none' })
          .whereRef('sessions.userId', '=', 'held.userId')
          .where('sessions.mfaLevel', '<>', 'none'),
      )
      .selectFrom('gone')
      .select('gone.count'),
  );
  return gone?.count ?? 0;
}
