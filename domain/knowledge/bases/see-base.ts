import { readBase, type KnowledgeBaseRow } from '../../../db/knowledge/bases/bases.ts';
import { readGrant, type KnowledgeGrantRow } from '../../../db/knowledge/bases/grants.ts';
import type { Scoped } from '../../../db/scope.ts';
import { fail } from '../../../workflows/contracts/failure.ts';

/** What a caller wants to do with a base: change its settings, or grant access to it. */
export type BaseNeed = 'manage' | 'grant';

/**
 * Returns a base that the caller may manage or, for `grant`, grant access to as an admin of its row scope. Throws 404 when the caller does not see it, 403
 * without the right.
 */
export async function seeBase(ctx: Scoped, kbId: string, need: BaseNeed): Promise<KnowledgeBaseRow> {
  const base = await readBase(ctx, kbId);
  refuseWithoutRight(base, need);
  return base;
}

/** Returns a grant of a base that the caller manages or, as an admin of its row scope, may grant access to. Throws 404 and 403 like `seeBase`. */
export async function seeGrant(ctx: Scoped, grantId: string): Promise<KnowledgeGrantRow> {
  const grant = await readGrant(ctx, grantId);
  refuseWithoutRight(grant, 'grant');
  return grant;
}

function refuseWithoutRight({ canManage, isAdmin }: { readonly canManage: boolean; readonly isAdmin: boolean }, need: BaseNeed): void {
  if (canManage || (need === 'grant' && isAdmin)) return;
  throw fail('resource_forbidden', { reason: 'grant_required', detail: 'This requires a grant with access manage to the knowledge base.' });
}
