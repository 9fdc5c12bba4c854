import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { eraseMessagesByAge, erasePartsByAge } from '../db/channels/messages.ts';
import type { Databases } from '../db/databases.ts';
import { eraseEventKeys } from '../db/events/upkeep.ts';
import { eraseBackfillsByAge, eraseOccurrencesByAge, rowsAStatement as occurrencesAStatement } from '../db/schedules/retention.ts';
import { sweep } from '../db/transaction.ts';
import { eraseEventsByAge } from '../db/triggers/events.ts';
import { eraseCallbacksByAge } from '../db/webhooks/callbacks.ts';
import { eraseBodies, eraseDeliveriesByAge, eraseDigests, rowsAStatement } from '../db/webhooks/retention.ts';
import type { Logger } from 'pino';
import type { AuditKeys } from '../db/audit/seal.ts';
import { organizationsPastRetention } from '../db/audit/retention.ts';
import { setMark } from '../db/http/system-marks.ts';
import { purgeLog } from './audit/retention.ts';
import { sweepLoginFailures } from './identity/factors/login-failure-retention.ts';

/** Key in `system_marks` of the time when retention last ran. */
export const retentionMark = 'retention';

const callbacksByAge = (em: SqlEntityManager) => eraseCallbacksByAge(em, rowsAStatement);
const eventKeys = (em: SqlEntityManager) => eraseEventKeys(em, rowsAStatement);
const partsByAge = (em: SqlEntityManager) => erasePartsByAge(em, rowsAStatement);
const messagesByAge = (em: SqlEntityManager) => eraseMessagesByAge(em, rowsAStatement);
const eventsByAge = (em: SqlEntityManager) => eraseEventsByAge(em, rowsAStatement);

/**
 * Empties the bodies of deliveries past the `delivery_retention_days` of their organization, and deletes deliveries, callbacks, events and messages of channels
 * past 90 days and digests past 24 hours. Works in batches, each a transaction of its own: after a kill the next pass continues. Returns the number of rows.
 */
export function eraseOldDeliveries(db: Databases, signal: AbortSignal): Promise<number> {
  const kinds = [eraseBodies, eraseDigests, eraseDeliveriesByAge, callbacksByAge, eventKeys, eventsByAge, partsByAge, messagesByAge];
  return eraseInBatches(db, kinds, { signal, size: rowsAStatement });
}

/**
 * Deletes occurrences of schedules and backfills past 400 days, in batches, each a transaction of its own: after a kill the next pass continues. Returns the
 * number of rows.
 */
export function eraseOldOccurrences(db: Databases, signal: AbortSignal): Promise<number> {
  return eraseInBatches(db, [eraseOccurrencesByAge, eraseBackfillsByAge], { signal, size: occurrencesAStatement });
}

async function eraseInBatches(
  db: Databases,
  kinds: readonly ((em: SqlEntityManager) => Promise<number>)[],
  { signal, size }: { readonly signal: AbortSignal; readonly size: number },
): Promise<number> {
  let total = 0;
  for (const erase of kinds)
    for (let count = size; count === size; total += count) {
      signal.throwIfAborted();
      count = await sweep(db, erase);
    }
  return total;
}

/** What one pass deleted. */
export interface Retained {
  readonly organizations: number;
  readonly auditEntries: number;
  readonly auditSeals: number;
  readonly loginFailures: number;
}

/**
 * Deletes audit entries past their organization's `audit_retention_days`, by complete seals from the oldest on, and failed logins by age and number. Each
 * transaction deletes some and writes one `purge` entry with counts: after a kill at any point the next pass continues. An organization whose entries can't be
 * deleted, or no longer match their seals, does not block the others; its error is thrown at the end. The platform's own chain is retained forever.
 */
export async function runRetention(
  db: Databases,
  keys: AuditKeys,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<Retained> {
  const due = await sweep(db, organizationsPastRetention);
  const total = { organizations: 0, auditEntries: 0, auditSeals: 0, loginFailures: 0 };

  const faults: unknown[] = [];
  for (const organizationId of due) {
    try {
      const purged = await purgeLog(db, keys, { organizationId, signal });
      total.auditSeals += purged.seals;
      total.auditEntries += purged.entries;
      total.organizations += 1;
    } catch (err) {
      signal.throwIfAborted();
      log.error({ err, organization_id: organizationId }, 'audit entries not purged');
      faults.push(err);
    }
  }
  total.loginFailures = await sweepLoginFailures(db, signal);
  if (faults.length > 0) throw faults[0];

  await sweep(db, (em) => setMark(em, retentionMark, total));
  log.info(total, 'retention ran');
  return total;
}
