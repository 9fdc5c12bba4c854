import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { writePurgeEntry } from '../../audit/system-entry.ts';
import type { Databases } from '../../../db/databases.ts';
import { sweep } from '../../../db/transaction.ts';
import { placesWithFailures, lastOfTooMany, deleteLoginFailures, type Keeping } from '../../../db/identity/factors/login-failures.ts';

/** Retention in days when the organization does not set `failed_login_retention_days`. */
const defaultDays = 90;

/** The most failures retained per organization, the newest ones, whatever their age: an attack can't fill the disk. */
export const maxFailures = 100_000;

const rowsAStatement = 5_000;

/** Deletes failed logins past their days or their number, one organization after the other, with a `purge` entry each. Returns the number of deleted rows. */
export async function sweepLoginFailures(db: Databases, signal: AbortSignal): Promise<number> {
  const places = await sweep(db, (em) => placesWithFailures(em, defaultDays));
  let total = 0;

  for (const place of places) {
    const until = await sweep(db, (em) => lastOfTooMany(em, place.organizationId, maxFailures));
    for (let count = rowsAStatement; count === rowsAStatement; total += count) {
      signal.throwIfAborted();
      count = await sweep(db, (em) => deleteSome(em, place, until));
    }
  }
  return total;
}

async function deleteSome(em: SqlEntityManager, { organizationId, days }: Keeping, until: string | null): Promise<number> {
  const count = await deleteLoginFailures(em, { organizationId, days, until, limit: rowsAStatement });
  if (count > 0) await writePurgeEntry(em, { organizationId, resourceType: 'login_failure', counts: { entries: count } });
  return count;
}
