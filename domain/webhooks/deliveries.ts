import type { Failure } from '../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { SeenDelivery } from '../../db/webhooks/deliveries.ts';
import type { DeliveryWarning } from '../../db/webhooks/webhook-delivery.entity.ts';
import { addWarning, countDuplicate, insertDelivery, type DeliveryPlace, type NewDelivery } from '../../db/webhooks/write-deliveries.ts';

/** Stores a delivery that starts nothing: one that was not verified, or could not become a run. */
export async function keepRefused(
  tx: TenantTransaction,
  endpoint: DeliveryPlace,
  delivery: NewDelivery & { readonly status: 'rejected' | 'failed' },
): Promise<void> {
  await insertDelivery(tx, endpoint, delivery);
}

/** The stored form of the failure that ended a delivery. */
export function errorOf({ code, context }: Failure): NonNullable<NewDelivery['error']> {
  const { reason } = context;
  return { code, reason: typeof reason === 'string' ? reason : null };
}

/** Counts a repeat of a delivery, which starts nothing, and returns what is needed to answer it; null when the delivery no longer exists. */
export function countRepeat(tx: TenantTransaction, deliveryId: string): Promise<SeenDelivery | null> {
  return countDuplicate(tx, deliveryId);
}

/** Adds a warning to a delivery after its run has ended. */
export async function warnOfDelivery(tx: TenantTransaction, deliveryId: string, warning: DeliveryWarning): Promise<void> {
  await addWarning(tx, deliveryId, warning);
}
