import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Scoped } from '../../db/scope.ts';
import { newOpaqueToken, tokenHash } from '../../db/identity/factors/opaque-tokens.ts';
import { findTarget, lockImpersonation, type ImpersonationRow, type ImpersonationTarget } from '../../db/operator/impersonations.ts';
import { insertImpersonation, writeEnd } from '../../db/operator/write-impersonations.ts';
import { lockCreator } from '../identity/people/creator.ts';

/**
 * Begins an impersonation of a user, by the database's clock. The token is returned once; only its digest is stored. Throws what `lockTarget` throws, and 401.
 */
export async function startImpersonation(
  ctx: Scoped,
  { userId, reason, minutes }: { readonly userId: string; readonly reason: string; readonly minutes: number },
): Promise<{ readonly impersonation: ImpersonationRow; readonly token: string }> {
  const target = await lockTarget(ctx, userId);
  // Locks the operator, so that the impersonation ends with the operator's access, or does not begin.
  await lockCreator(ctx);
  const token = newOpaqueToken('impersonation');
  const impersonation = await insertImpersonation(ctx, target, { reason, minutes, tokenHash: tokenHash(token) });
  return { impersonation, token };
}

/** Ends an impersonation: its token and stream tokens are invalid after the commit, and its streams are notified. One that has ended stays as it is. */
export async function endImpersonation(
  ctx: Scoped,
  id: string,
): Promise<{ readonly before: ImpersonationRow; readonly after: ImpersonationRow }> {
  const before = await lockImpersonation(ctx, id);
  if (before.endedAt !== null) return { before, after: before };

  const after = await writeEnd(ctx, before.id);
  ctx.outgoing.revoked.push(`impersonation:${id}`);
  return { before, after };
}

/**
 * Returns the user to impersonate, locked against changes meanwhile. Throws 422 when there is no such visible user, 403 for an operator, 409 `target_inactive`.
 */
async function lockTarget(ctx: Scoped, userId: string): Promise<ImpersonationTarget> {
  const found = await findTarget(ctx, userId);
  if (!found) throw invalid('/user_id', 'reference', 'does not refer to an existing user');
  if (found.role === 'operator' || found.organizationId === null)
    throw fail('role_insufficient', { reason: 'rank', detail: 'An operator cannot be impersonated.' });
  if (!found.isActive) throw fail('state_conflict', { reason: 'target_inactive', detail: 'The user is not active.' });
  return { id: userId, organizationId: found.organizationId, workspaceId: found.workspaceId };
}
