import { creatorOf } from '../../../db/actor-ref.ts';
import type { KnowledgeRelationType } from '../../../db/knowledge/items/knowledge-relation.entity.ts';
import { findRelation } from '../../../db/knowledge/items/relations.ts';
import { insertRelation, lockEnds, removeRelation } from '../../../db/knowledge/items/write-relations.ts';
import { assertActive, type Scoped } from '../../../db/scope.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';
import { requireBaseOfItem } from '../bases/base-rights.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';

export interface RelationDraft {
  readonly fromItemId: string;
  readonly toItemId: string;
  readonly type: KnowledgeRelationType;
  readonly note: string | null;
}

/**
 * Links two live items of one base. Returns the relation and the base.
 * @throws 404, 403, 423; 422 when the other end is no live item of the base, or is the item itself; 409 `already_exists`.
 */
export async function createRelation(ctx: Scoped, { fromItemId, toItemId, type, note }: RelationDraft) {
  const base = await requireBaseOfItem(ctx, fromItemId, { right: 'write', isLocked: true });
  if (fromItemId === toItemId) throw invalid('/to_item_id', 'range', 'An item cannot have a relation to itself.');
  await assertActive(ctx.em, base);
  refuseFrozenBase(base);
  const ends = await lockEnds(ctx, base.id, [fromItemId, toItemId]);
  if (!ends.includes(fromItemId)) throw fail('not_found');
  if (!ends.includes(toItemId)) throw invalid('/to_item_id', 'reference', 'The base has no such live item.', { kind: 'item' });

  const { id: kbId, organizationId, workspaceId } = base;
  const created = await insertRelation(ctx, {
    kbId,
    organizationId,
    workspaceId,
    fromItemId,
    toItemId,
    type,
    note,
    createdBy: creatorOf(ctx.actor),
  });
  if (!created) throw fail('already_exists');
  return { relation: created, base };
}

/** Deletes a relation, and returns it with its base. Throws 404, 403, 423. */
export async function deleteRelation(ctx: Scoped, relationId: string) {
  const relation = await findRelation(ctx, relationId);
  if (!relation) throw fail('not_found');
  const base = await requireBaseOfItem(ctx, relation.fromItemId, { right: 'write', isLocked: true });
  refuseFrozenBase(base);
  if (!(await removeRelation(ctx, relationId))) throw fail('not_found');
  return { relation, base };
}
