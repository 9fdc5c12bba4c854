import { findContentBase, type BaseLookup, type BaseTarget, type ItemBase } from '../../../db/knowledge/items/item-base.ts';
import { seen, type Scoped } from '../../../db/scope.ts';
import { fail } from '../../../workflows/contracts/failure.ts';

/** What a caller needs of the content of a base. */
export type ContentRight = 'read' | 'write' | 'curate';

export interface BaseRequest extends BaseLookup {
  readonly right: ContentRight;
}

/** A base whose content the caller has a right to. 404 when it does not see the base, 403 without the right. */
export async function requireBase(ctx: Scoped, kbId: string, request: BaseRequest): Promise<ItemBase> {
  return requireContent(ctx, { kbId }, request);
}

/** The base of an item. 404 when the caller does not see the base, or the item is not live; 403 without the right. */
export async function requireBaseOfItem(ctx: Scoped, itemId: string, request: BaseRequest): Promise<ItemBase> {
  return requireContent(ctx, { itemId }, request);
}

async function requireContent(ctx: Scoped, target: BaseTarget, request: BaseRequest): Promise<ItemBase> {
  const first = await findContentBase(ctx, target, request);
  const isEnough = first !== null && rightsOf(first)[request.right];
  const base = seen(ctx, isEnough || !request.isLocked ? first : await findAfterWait(ctx, target, request));
  if (!rightsOf(base)[request.right]) throw fail('resource_forbidden');
  return base;
}

// A statement that has waited for a lock sees the locked row as it is by then, and all others as they were: after a cut-over, grants that have gone to the successor
// are nowhere. The next one sees them.
async function findAfterWait(ctx: Scoped, target: BaseTarget, request: BaseRequest): Promise<ItemBase | null> {
  return (await findContentBase(ctx, target, request)) ?? refuseUnlocked(ctx, target, request);
}

// A row that can be read and not locked is one that the caller's tenant may not write: the platform's.
async function refuseUnlocked(ctx: Scoped, target: BaseTarget, request: BaseRequest): Promise<null> {
  if (await findContentBase(ctx, target, { ...request, isLocked: false })) throw fail('resource_forbidden');
  return null;
}

function rightsOf(base: ItemBase): Record<ContentRight, boolean> {
  return { read: base.canRead, write: base.canWrite, curate: base.canCurate };
}
