import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Notes that items were found just now; one that somebody else is changing is left to the next search. */
export async function touchItems(tx: Pick<TenantTransaction, 'em'>, itemIds: readonly string[]): Promise<void> {
  await change(
    tx.em,
    `update knowledge_items set last_used_at = now()
      where id = any (array(select id from knowledge_items where id = any (?::uuid[]) and deleted_at is null order by id for no key update skip locked))`,
    [itemIds],
  );
}
