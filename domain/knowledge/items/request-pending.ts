import type { KnowledgeItem } from '../../../db/knowledge/items/knowledge-item.entity.ts';
import type { BasePlace } from '../../../db/knowledge/items/write-chunks.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { requestIndex } from './request-index.ts';

/** Has the workflow `index:<kb>` make what some items of a base still wait for, once for all of them; nothing where none waits. */
export async function requestPending(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: BasePlace,
  items: readonly Pick<KnowledgeItem, 'id' | 'rowVersion' | 'indexState'>[],
): Promise<void> {
  const waiting = items.find(({ indexState }) => indexState === 'pending');
  if (waiting === undefined || organizationId === null) return;
  await requestIndex(tx, { id, organizationId, workspaceId }, `${waiting.id}:${waiting.rowVersion}`);
}
