import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { inChain } from '../audit/chain.ts';
import { writePurgeEntry } from '../audit/purge-entry.ts';
import type { Databases } from '../databases.ts';
import { change, row, rows } from '../sql.ts';
import { sweep } from '../transaction.ts';

/** Kept where no organization says otherwise (its setting is `failed_login_retention_days`). */
const defaultDays = 90;

/** The newest of an organization that are kept at most, whatever their age: an attack fills no disk. */
export const maxFailures = 100_000;

const rowsAStatement = 5_000;

interface Keeping {
  readonly organization_id: string | null;
  readonly days: number;
}

/** Deletes failed logins past their days or their number, one organization after the other, with a `purge` entry each. Gives how many. */
export async function sweepLoginFailures(db: Databases, signal: AbortSignal): Promise<number> {
  const places = await sweep(db, placesWithFailures);
  let total = 0;

  for (const place of places) {
    const until = await sweep(db, (em) => lastOfTooMany(em, place.organization_id));
    for (let count = rowsAStatement; count === rowsAStatement; total += count) {
      signal.throwIfAborted();
      count = await sweep(db, (em) => deleteSome(em, place, until));
    }
  }
  return total;
}

async function placesWithFailures(em: SqlEntityManager): Promise<Keeping[]> {
  return rows<Keeping>(
    em,
    `select f.organization_id, coalesce(s.failed_login_retention_days, ${defaultDays}) as days
     from (select distinct organization_id from login_failures) f
     left join organization_settings s on s.organization_id = f.organization_id order by 1`,
  );
}

/** The time of the newest one that is too many; null when there are not that many. */
async function lastOfTooMany(em: SqlEntityManager, organizationId: string | null): Promise<string | null> {
  const own = inChain(organizationId);
  const found = await row<{ at: string }>(
    em,
    `select at from login_failures where ${own.sql} order by at desc offset ${maxFailures} limit 1`,
    [...own.params],
  );
  return found?.at ?? null;
}

async function deleteSome(em: SqlEntityManager, { organization_id: organizationId, days }: Keeping, until: string | null): Promise<number> {
  const own = inChain(organizationId);
  const count = await change(
    em,
    `delete from login_failures where id in (
       select id from login_failures where ${own.sql} and at <= greatest(now() - make_interval(days => ?::int), ?::timestamptz)
       order by at limit ${rowsAStatement})`,
    [...own.params, days, until],
  );
  if (count > 0) await writePurgeEntry(em, { organizationId, resourceType: 'login_failure', counts: { entries: count } });
  return count;
}
