import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { eraseMessagesByAge, erasePartsByAge } from '../db/channels/messages.ts';
import type { Databases } from '../db/databases.ts';
import { eraseEventKeys } from '../db/events/upkeep.ts';
import { sweep } from '../db/transaction.ts';
import { eraseEventsByAge } from '../db/triggers/events.ts';
import { eraseCallbacksByAge } from '../db/webhooks/callbacks.ts';
import { eraseBodies, eraseDeliveriesByAge, eraseDigests, rowsAStatement } from '../db/webhooks/retention.ts';

const callbacksByAge = (em: SqlEntityManager) => eraseCallbacksByAge(em, rowsAStatement);
const eventKeys = (em: SqlEntityManager) => eraseEventKeys(em, rowsAStatement);
const partsByAge = (em: SqlEntityManager) => erasePartsByAge(em, rowsAStatement);
const messagesByAge = (em: SqlEntityManager) => eraseMessagesByAge(em, rowsAStatement);
const eventsByAge = (em: SqlEntityManager) => eraseEventsByAge(em, rowsAStatement);

/**
 * Empties the bodies of deliveries past the `delivery_retention_days` of their organization, and deletes deliveries, callbacks, events and messages of channels
 * past 90 days and digests past 24 hours. Works in batches, each a transaction of its own: after a kill the next pass continues. Returns the number of rows.
 */
export async function eraseOldDeliveries(db: Databases, signal: AbortSignal): Promise<number> {
  let total = 0;
  const kinds = [eraseBodies, eraseDigests, eraseDeliveriesByAge, callbacksByAge, eventKeys, eventsByAge, partsByAge, messagesByAge];
  for (const erase of kinds)
    for (let count = rowsAStatement; count === rowsAStatement; total += count) {
      signal.throwIfAborted();
      count = await sweep(db, erase);
    }
  return total;
}
