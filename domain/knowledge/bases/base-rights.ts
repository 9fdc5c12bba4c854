import { findContentBase, type BaseLookup, type BaseTarget, type ItemBase } from '../../../db/knowledge/items/item-base.ts';
import { seen, type Scoped } from '../../../db/scope.ts';
import { fail } from '../../../workflows/contracts/failure.ts';

/** The access that a caller needs to the content of a base. */
export type ContentRight = 'read' | 'write' | 'curate';

export interface BaseRequest extends BaseLookup {
  readonly right: ContentRight;
}

/** Returns a base to whose content the caller has the right. Throws 404 when the caller does not see the base, 403 without the right. */
export async function requireBase(ctx: Scoped, kbId: string, request: BaseRequest): Promise<ItemBase> {
  return requireContent(ctx, { kbId }, request);
}

/** Returns the base of an item. Throws 404 when the caller does not see the base or the item is not live, 403 without the right. */
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

// A statement that has waited for a lock sees the locked row as it is by then, but all other rows as they were: after a cut-over it misses the grants that have
// moved to the successor. The next statement sees them.
async function findAfterWait(ctx: Scoped, target: BaseTarget, request: BaseRequest): Promise<ItemBase | null> {
  return (await findContentBase(ctx, target, request)) ?? refuseUnlocked(ctx, target, request);
}

// A row that can be read but not locked is one that the caller's tenant may not write: the platform's.
async function refuseUnlocked(ctx: Scoped, target: BaseTarget, request: BaseRequest): Promise<null> {
  if (await findContentBase(ctx, target, { ...request, isLocked: false })) throw fail('resource_forbidden');
  return null;
}

function rightsOf(base: ItemBase): Record<ContentRight, boolean> {
  return { read: base.canRead, write: base.canWrite, curate: base.canCurate };
}
