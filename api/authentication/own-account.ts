import type { Caller } from '../../db/caller.ts';
import { truncateAddress } from '../../db/identity/people/addresses.ts';
import type { LoginFailureReason } from '../../db/identity/factors/login-failures.ts';
import { accountHash } from '../../db/identity/factors/opaque-tokens.ts';
import { readUser } from '../../db/identity/people/users.ts';
import { recordLoginFailure } from '../../domain/identity/factors/sign-in.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { SessionGrant } from '../http/views/login-view.ts';
import type { AuditNote, Ctx } from '../http/operation/operation.ts';

/** The account that an operation of a session changes, and its row scope; an operator has none, whatever the view. */
export interface OwnAccount {
  readonly userId: string;
  readonly sessionId: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/** Returns the account of the calling session. Throws 403 for any other credential. */
export function ownAccount(caller: Caller): OwnAccount {
  const { userId, sessionId } = caller;

  if (userId === null || sessionId === null) throw fail('scope_insufficient', { reason: 'user_session_required' });
  if (caller.role === 'operator') return { userId, sessionId, organizationId: null, workspaceId: null };
  return { userId, sessionId, organizationId: caller.organizationId, workspaceId: caller.workspaceId };
}

/** Returns the audit note of a change of the user's own account. */
export function accountNote(
  { userId, organizationId, workspaceId }: Omit<OwnAccount, 'sessionId'>,
  changes: AuditNote['changes'],
): AuditNote {
  return { resourceType: 'user', resourceId: userId, organizationId, workspaceId, changes };
}

/** Returns access token and user of a session that was opened, refreshed or verified. */
export async function grantOf(ctx: Ctx, userId: string, refresh: SessionGrant['refresh']): Promise<SessionGrant> {
  // In parallel: a token without a session is useless.
  const [user, access] = await Promise.all([
    readUser(ctx, userId),
    ctx.deps.identity.tokens.issue({ userId, sessionId: refresh.sessionId }),
  ]);

  // The user was deleted between the lookup and this transaction.
  if (!user) throw fail('session_revoked');

  return { access, refresh, user };
}

/** Commits the record of a refused sign-in at once, so that the refusal does not roll it back. */
export function keepFailure(
  ctx: Ctx,
  {
    email,
    person,
    reason,
  }: { email: string; person: { readonly id: string; readonly organizationId: string | null }; reason: LoginFailureReason },
): Promise<void> {
  return ctx.commitNow((tx) =>
    recordLoginFailure(tx, {
      accountHash: accountHash(ctx.deps.keys, email),
      person,
      networkAddress: truncateAddress(ctx.address),
      reason,
    }),
  );
}
