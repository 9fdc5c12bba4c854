import { touchItems } from '../../../db/knowledge/items/change-items.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { SearchHit } from './search.ts';

/** The precision of `last_used_at`: staleness and decay count in days. */
const dayMs = 86_400_000;

/** Records that a search returned items, at most once a day per item: one statement, or none when all are fresh. */
export async function recordUse(
  transact: (work: (tx: TenantTransaction) => Promise<void>) => Promise<unknown>,
  hits: readonly Pick<SearchHit, 'row'>[],
  now: Date,
): Promise<void> {
  const isOld = (usedAt: Date | string | null) => usedAt === null || now.getTime() - new Date(usedAt).getTime() > dayMs;
  const ids = new Set(hits.flatMap(({ row }) => (isOld(row.lastUsedAt) ? [row.itemId] : [])));
  if (ids.size > 0) await transact((tx) => touchItems(tx, [...ids]));
}
