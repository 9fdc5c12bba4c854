import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Scoped } from '../../db/scope.ts';
import { newOpaqueToken, tokenHash } from '../../db/identity/factors/opaque-tokens.ts';
import { findTarget, lockImpersonation, type ImpersonationRow, type ImpersonationTarget } from '../../db/operator/impersonations.ts';
import { insertImpersonation, writeEnd } from '../../db/operator/write-impersonations.ts';
import { lockMaker } from '../identity/people/creator.ts';

/** Begins an impersonation of a user, by the database's clock. The token is given once; what is stored is its digest. Throws what `lockTarget` does, and 401. */
export async function startImpersonation(
  ctx: Scoped,
  { userId, reason, minutes }: { readonly userId: string; readonly reason: string; readonly minutes: number },
): Promise<{ readonly impersonation: ImpersonationRow; readonly token: string }> {
  const target = await lockTarget(ctx, userId);
  // So that it ends with the operator who begins it, or isn't begun.
  await lockMaker(ctx);
  const token = newOpaqueToken('impersonation');
  const impersonation = await insertImpersonation(ctx, target, { reason, minutes, tokenHash: tokenHash(token) });
  return { impersonation, token };
}

/** Ends an impersonation: its token and stream tokens are worth nothing from the commit on, its streams are told. One that has ended stays as it is. */
export async function endImpersonation(
  ctx: Scoped,
  id: string,
): Promise<{ readonly before: ImpersonationRow; readonly after: ImpersonationRow }> {
  const before = await lockImpersonation(ctx, id);
  if (before.ended_at !== null) return { before, after: before };

  const after = await writeEnd(ctx, before.id);
  ctx.outgoing.revoked.push(`impersonation:${id}`);
  return { before, after };
}

/** The user to work as, locked against a change meanwhile. 422 when there is none in sight, 403 for an operator, 409 `target_inactive`. */
async function lockTarget(ctx: Scoped, userId: string): Promise<ImpersonationTarget> {
  const found = await findTarget(ctx, userId);
  if (!found) throw invalid('/user_id', 'reference', 'does not refer to an existing user');
  if (found.role === 'operator' || found.organization_id === null)
    throw fail('role_insufficient', { reason: 'rank', detail: 'An operator cannot be impersonated.' });
  if (!found.is_active) throw fail('state_conflict', { reason: 'target_inactive', detail: 'The user is not active.' });
  return { id: userId, organizationId: found.organization_id, workspaceId: found.workspace_id };
}
