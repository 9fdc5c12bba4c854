import { newId } from '../../ids.ts';
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

/** Stores a refused sign-in or verification. */
export async function insertLoginFailure(tx: TenantTransaction, failure: LoginFailure): Promise<void> {
  await change(
    tx.em,
    'insert into login_failures (id, at, account_hash, user_id, organization_id, ip_truncated, reason) values (?::uuid, now(), ?, ?::uuid, ?::uuid, ?, ?)',
    [
      newId(),
      failure.accountHash,
      failure.person?.id ?? null,
      failure.person?.organizationId ?? null,
      failure.networkAddress,
      failure.reason,
    ],
  );
}

export interface Keeping {
  readonly organization_id: string | null;
  readonly days: number;
}

/** Returns the organizations with failed logins (null: those of no organization) and how many days each retains them; `defaultDays` where it has no setting. */
export async function placesWithFailures(em: SqlEntityManager, defaultDays: number): Promise<Keeping[]> {
  return rows<Keeping>(
    em,
    `select f.organization_id, coalesce(s.failed_login_retention_days, ?) as days
     from (select distinct organization_id from login_failures) f
     left join organization_settings s on s.organization_id = f.organization_id order by 1`,
    [defaultDays],
  );
}

/** Returns the time of the newest failed login beyond `maxFailures`, or null when there are not that many. */
export async function lastOfTooMany(em: SqlEntityManager, organizationId: string | null, maxFailures: number): Promise<string | null> {
  const own = inChain(organizationId);
  const found = await row<{ at: string }>(em, `select at from login_failures where ${own.sql} order by at desc offset ? limit 1`, [
    ...own.params,
    maxFailures,
  ]);
  return found?.at ?? null;
}

/**
 * Deletes at most `limit` of the oldest failed logins of an organization (null: of none) that are past their days or not newer than `until`; returns how many.
 */
export async function deleteLoginFailures(
  em: SqlEntityManager,
  past: { readonly organizationId: string | null; readonly days: number; readonly until: string | null; readonly limit: number },
): Promise<number> {
  const own = inChain(past.organizationId);
  return change(
    em,
    `delete from login_failures where id in (
       select id from login_failures where ${own.sql} and at <= greatest(now() - make_interval(days => ?::int), ?::timestamptz)
       order by at limit ?)`,
    [...own.params, past.days, past.until, past.limit],
  );
}
