import { fail } from '../../../workflows/contracts/failure.ts';
import type { Caller } from '../../../db/caller.ts';
import type { Databases } from '../../../db/databases.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { actAs, callerOfImpersonation, callerOfKey, narrowTo, refuseRestriction } from '../callers/caller.ts';
import { takeStreamToken } from '../../../db/identity/lookup/credential-lookup.ts';
import { callerOfAnySession, callerOfClient } from '../callers/oauth-caller.ts';
import { isOpaqueToken, newOpaqueToken, tokenHash } from '../../../db/identity/factors/opaque-tokens.ts';
import { insertStreamToken } from '../../../db/identity/sessions/stream-tokens.ts';

/** Issues a token that opens one socket of one run as the caller, who has already been found to see the run. */
export async function issueStreamToken(
  ctx: TenantTransaction & { readonly caller: Caller },
  run: { readonly id: string; readonly organizationId: string; readonly workspaceId: string },
): Promise<{ token: string; expiresAt: Date | string }> {
  const { caller } = ctx;
  const token = newOpaqueToken('stream');
  const expiresAt = await insertStreamToken(ctx, {
    tokenHash: tokenHash(token),
    runId: run.id,
    organizationId: run.organizationId,
    workspaceId: run.workspaceId,
    principalKind: caller.impersonationId === null ? caller.kind : 'impersonation',
    principalId: caller.impersonationId ?? caller.principalId,
    sessionId: caller.sessionId,
    actingUserId: caller.actingUserId,
  });
  return { token, expiresAt };
}

/**
 * Uses up a token and returns its caller, with the current rights. Throws `stream_token_used`, `stream_token_invalid` (unknown, expired, or of another run),
 * `session_revoked`, `mfa_required` or `credential_invalid`. The reader has to check whether the caller still sees the run.
 */
export async function openStreamToken(db: Databases, token: string, runId: string): Promise<Caller> {
  if (!isOpaqueToken('stream', token)) throw fail('stream_token_invalid');
  const taken = await takeStreamToken(db, tokenHash(token), runId);

  if (taken.result === 'used') throw fail('stream_token_used');
  if (taken.result !== 'ok') throw fail('stream_token_invalid');
  const { person, session, key, creator, client, acting, impersonation, organizationId, workspaceId } = taken;

  if (impersonation) return callerOfImpersonation(impersonation);

  if (session?.isRevoked || session?.isOver || (person && !person.isActive)) throw fail('session_revoked');
  const caller = person ? callerOfAnySession(person, session) : key ? callerOfKey(key, creator) : client && callerOfClient(client, null);

  if (!caller || taken.isOutdated) throw fail('credential_invalid');
  refuseRestriction(caller);
  // With a token, an operator sees only the workspace of its run.
  const narrowed = caller.scope === 'platform' ? narrowTo(caller, { organizationId, workspaceId }) : caller;

  return taken.isActing ? actAs(narrowed, acting) : narrowed;
}
