import { sql } from 'kysely';
import { newId } from '../../ids.ts';
import { Condition } from '../../condition.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { Person } from '../people/people.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { inChain } from '../../audit/chain.ts';

/** Why a sign-in was refused. */
export type LoginFailureReason = 'unknown_account' | 'wrong_password' | 'inactive' | 'wrong_code';

/** Whose sign-in was refused, and why. */
export interface LoginFailure {
  readonly accountHash: Buffer;
  /** Null for an unknown account. */
  readonly person: Pick<Person, 'id' | 'organizationId'> | null;
  readonly networkAddress: string;
  readonly reason: LoginFailureReason;
}

interface NewFailure extends Omit<LoginFailure, 'person'> {
  readonly id: string;
  readonly userId: string | null;
  readonly organizationId: string | null;
}

const inserting = prepared(({ id, accountHash, userId, organizationId, networkAddress, reason }: ParametersOf<NewFailure>) =>
  query
    .insertInto('login_failures')
    .values({ id, at: sql<string>`now()`, accountHash, userId, organizationId, ipTruncated: networkAddress, reason }),
);

/** Stores a refused sign-in or verification. */
export async function insertLoginFailure(
  tx: TenantTransaction,
  { accountHash, person, networkAddress, reason }: LoginFailure,
): Promise<void> {
  const of = { userId: person?.id ?? null, organizationId: person?.organizationId ?? null };
  await change(tx.em, inserting({ id: newId(), accountHash, ...of, networkAddress, reason }));
}

export type Keeping = Awaited<ReturnType<typeof placesWithFailures>>[number];

/** Returns the organizations with failed logins (null: those of no organization) and how many days each retains them; `defaultDays` where it has no setting. */
export async function placesWithFailures(em: SqlEntityManager, defaultDays: number) {
  const places = query.selectFrom('login_failures').distinct().select('organizationId');
  return rows(
    em,
    query
      .selectFrom(places.as('f'))
      .leftJoin('organization_settings as s', 's.organizationId', 'f.organizationId')
      .select(({ ref }) => ['f.organizationId', sql<number>`coalesce(${ref('s.failedLoginRetentionDays')}, ${defaultDays})`.as('days')])
      .orderBy('f.organizationId'),
  );
}

/** Returns the time of the newest failed login beyond `maxFailures`, or null when there are not that many. */
export async function lastOfTooMany(em: SqlEntityManager, organizationId: string | null, maxFailures: number): Promise<string | null> {
  const found = await row(
    em,
    query.selectFrom('login_failures').select('at').where(ofPlace(organizationId)).orderBy('at', 'desc').offset(maxFailures).limit(1),
  );
  return found?.at ?? null;
}

/**
 * Deletes at most `limit` of the oldest failed logins of an organization (null: of none) that are past their days or not newer than `until`; returns how many.
 */
export async function deleteLoginFailures(
  em: SqlEntityManager,
  past: { readonly organizationId: string | null; readonly days: number; readonly until: string | null; readonly limit: number },
): Promise<number> {
  const oldest = query
    .selectFrom('login_failures')
    .select('id')
    .where(ofPlace(past.organizationId))
    .where('at', '<=', sql<string>`greatest(now() - make_interval(days => ${past.days}::int), ${past.until}::timestamptz)`)
    .orderBy('at')
    .limit(past.limit);
  return change(em, query.deleteFrom('login_failures').where('id', 'in', oldest));
}

function ofPlace(organizationId: string | null): Condition {
  const { sql: text, params } = inChain(organizationId);
  return new Condition(text, params);
}
