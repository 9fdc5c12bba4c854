import type { KnowledgeItem } from '../../../db/knowledge/items/knowledge-item.entity.ts';
import type { BasePlace } from '../../../db/knowledge/items/write-chunks.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { requestIndex } from './request-index.ts';

/** Makes the workflow `index:<kb>` index the pending ones among some items of a base, with one message for all; does nothing when none is pending. */
export async function requestPending(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: BasePlace,
  items: readonly Pick<KnowledgeItem, 'id' | 'rowVersion' | 'indexState'>[],
): Promise<void> {
  const waiting = items.find(({ indexState }) => indexState === 'pending');
  if (waiting === undefined || organizationId === null) return;
  await requestIndex(tx, { id, organizationId, workspaceId }, `${waiting.id}:${waiting.rowVersion}`);
}
