import type { RowScope } from '../../db/new-row-scope.ts';
import { isUnbounded, refuseRank, workspacesOf } from '../../db/caller-scope.ts';
import { namesAimedAnew } from '../../domain/secrets/secret-aim.ts';
import { sharedPlacesOf } from '../../db/secrets/secret-use.ts';
import type { AimChange } from '../../domain/tools/tools.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation/operation.ts';
import { checkFloor } from '../http/credentials/role-floor.ts';
import { putSecretDemand } from '../http/credentials/secret-right.ts';

/**
 * Throws 403 unless the caller may set each secret of a workspace, the organization or the platform that a config sends to an origin that did not get it
 * before: whoever directs a secret to an origin learns its value. Requires what `putSecret` requires: the role in the secret's row scope and the OAuth scope,
 * and neither another user's name nor an impersonation.
 */
export async function refuseForeignAim(ctx: Ctx, rowScope: RowScope, changes: readonly AimChange[]): Promise<void> {
  const names = [...new Set(changes.flatMap(({ before, after }) => namesAimedAnew(before, after)))];
  const places = names.length === 0 ? [] : await sharedPlacesOf(ctx, rowScope, names);
  if (places.length === 0) return;

  checkFloor(putSecretDemand, ctx.caller, ctx.deps.env.publicUrl);
  const reached = workspacesOf(ctx.caller);
  for (const { scope, workspaceId } of places) {
    const isTooWide = scope === 'platform' ? !isUnbounded(ctx.caller) : workspaceId === null && reached !== null;
    if (isTooWide) throw fail('role_insufficient', { reason: 'scope_too_wide' });
    if (workspaceId !== null) refuseRank(ctx.caller, workspaceId, putSecretDemand.access);
  }
}
