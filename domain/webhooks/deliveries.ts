import type { Failure } from '../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { SeenDelivery } from '../../db/webhooks/deliveries.ts';
import type { DeliveryWarning } from '../../db/webhooks/webhook-delivery.entity.ts';
import { addWarning, countDuplicate, insertDelivery, type DeliveryPlace, type NewDelivery } from '../../db/webhooks/write-deliveries.ts';

/** Keeps a delivery that starts nothing: one that was not verified, or could not become a run. */
export async function keepRefused(
  tx: TenantTransaction,
  endpoint: DeliveryPlace,
  delivery: NewDelivery & { readonly status: 'rejected' | 'failed' },
): Promise<void> {
  await insertDelivery(tx, endpoint, delivery);
}

/** What a delivery keeps of the failure that ended it. */
export function errorOf({ code, context }: Failure): NonNullable<NewDelivery['error']> {
  const { reason } = context;
  return { code, reason: typeof reason === 'string' ? reason : null };
}

/** Counts a repeat of a delivery, which starts nothing, and gives what it is answered by; null when the delivery is gone. */
export function countRepeat(tx: TenantTransaction, deliveryId: string): Promise<SeenDelivery | null> {
  return countDuplicate(tx, deliveryId);
}

/** Adds to a delivery what came to light when its run had ended. */
export async function warnOfDelivery(tx: TenantTransaction, deliveryId: string, warning: DeliveryWarning): Promise<void> {
  await addWarning(tx, deliveryId, warning);
}
