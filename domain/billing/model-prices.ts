import { findPrice, type PriceRow } from '../../db/billing/prices/model-prices.ts';
import { deleteUpcomingPrice, insertPrice, lockPrices } from '../../db/billing/prices/write-prices.ts';
import { databaseTime } from '../../db/database-time.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { completePrice, startsInPast, type PriceDraft, type PriceFault, type PriceRules } from './new-price.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/**
 * Stores a price that begins now or later. Throws 422 with the rule that it breaks (`unusual_price`, `past`, …), 409 `already_exists` when a price of the same
 * model, tier, bucket and currency begins at the same instant.
 */
export async function createPrice(tx: Tx, draft: PriceDraft, rules: PriceRules): Promise<PriceRow> {
  const price = completePrice(draft, rules);
  if ('rule' in price) throw refusal(price);
  const past = price.effectiveFrom === null ? null : startsInPast(price, await databaseTime(tx.em));
  if (past) throw refusal(past);
  await lockPrices(tx.em);
  return insertPrice(tx.em, price);
}

/**
 * Deletes a price that has not begun; returns it. Throws 404, and 409 `in_force` for a price that has begun: prices that calls were charged by stay readable.
 */
export async function deletePrice(tx: Tx, priceId: string): Promise<PriceRow> {
  const price = await findPrice(tx.em, priceId);
  if (!price) throw fail('not_found');
  if (!price.hasBegun && (await deleteUpcomingPrice(tx.em, priceId))) return price;
  // The price has begun meanwhile, or another request has deleted it.
  if (!price.hasBegun && (await findPrice(tx.em, priceId)) === null) throw fail('not_found');
  throw fail('state_conflict', {
    reason: 'in_force',
    detail: 'The price is, or has been, in force. Create a new price that begins now to replace it.',
  });
}

function refusal({ field, rule, message }: PriceFault) {
  return invalid(`/${field}`, rule, message);
}
