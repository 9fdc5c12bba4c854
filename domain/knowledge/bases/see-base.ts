import { readBase, type KnowledgeBaseRow } from '../../../db/knowledge/bases/bases.ts';
import { readGrant, type KnowledgeGrantRow } from '../../../db/knowledge/bases/grants.ts';
import type { Scoped } from '../../../db/scope.ts';
import { fail } from '../../../workflows/contracts/failure.ts';

/** What somebody asks of a base beside that it is there: to change its settings, or who may use it. */
export type BaseNeed = 'manage' | 'grant';

/**
 * A base that the caller may manage, or, as an admin of its place too, grant access to. Throws 404 where the caller does not see it, 403 without the
 * right.
 */
export async function seeBase(ctx: Scoped, kbId: string, need: BaseNeed): Promise<KnowledgeBaseRow> {
  const base = await readBase(ctx, kbId);
  refuseWithoutRight(base, need);
  return base;
}

/** A grant of a base that the caller manages or, as an admin of its place, grants access to. Throws 404 and 403 like `seeBase`. */
export async function seeGrant(ctx: Scoped, grantId: string): Promise<KnowledgeGrantRow> {
  const grant = await readGrant(ctx, grantId);
  refuseWithoutRight(grant, 'grant');
  return grant;
}

function refuseWithoutRight({ canManage, isAdmin }: { readonly canManage: boolean; readonly isAdmin: boolean }, need: BaseNeed): void {
  if (canManage || (need === 'grant' && isAdmin)) return;
  throw fail('resource_forbidden', { reason: 'grant_required', detail: 'This requires a grant with access manage to the knowledge base.' });
}
