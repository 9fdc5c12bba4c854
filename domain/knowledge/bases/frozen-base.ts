import type { ItemBase } from '../../../db/knowledge/items/item-base.ts';
import { fail } from '../../../workflows/contracts/failure.ts';

/**
 * Refuses to change the content of a base that is frozen or superseded, or that a re-embed copies or fills right now: 423 `resource_frozen` with the reason.
 */
export function refuseFrozenBase(base: Pick<ItemBase, 'isFrozen' | 'successorId' | 'activatedAt' | 'reembedRunId'>): void {
  const { isFrozen, successorId, activatedAt, reembedRunId } = base;
  if (!isFrozen && successorId === null && activatedAt !== null) return;
  if (successorId !== null) throw fail('resource_frozen', { reason: 'superseded', context: { successor_id: successorId } });
  if (activatedAt === null || reembedRunId !== null)
    throw fail('resource_frozen', {
      reason: 'reembed_in_progress',
      context: reembedRunId === null ? {} : { run_id: reembedRunId },
    });
  throw fail('resource_frozen', { reason: 'frozen' });
}
