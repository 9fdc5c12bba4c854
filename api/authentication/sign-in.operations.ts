import type { Static } from 'typebox';
import { writeAudit } from '../../db/audit/audit.ts';
import {
  defaultLifetime,
  judgeRefresh,
  openSession,
  recordLoginFailure,
  replaceOutdatedHash,
  revokeSession,
  rotateRefresh,
} from '../../db/identity/sessions.ts';
import { readUser } from '../../db/tenancy/users.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { post, type Ctx } from '../http/operation.ts';
import { LoginBody, LoginView, RefreshBody, TokenView, toLoginView, toTokenView, type SessionGrant } from './sign-in.schema.ts';
import { attemptLogin, attemptRefresh, type LoginAttempt, type RefreshAttempt } from './sign-in.ts';

export const signInOperations = {
  login: post(
    '/auth/login',
    {
      summary: 'Sign in',
      description: 'Opens a session with address and password. Every wrong combination gives the same answer in the same time.',
      access: 'none',
      audit: 'login',
      resourceType: 'session',
      body: LoginBody,
      view: LoginView,
      identify: attemptLogin,
      openWhenFrozen: true,
    },
    // `identified` is what attemptLogin gave.
    async (ctx, { body, identified }) => logIn(ctx, body, identified as LoginAttempt),
  ),

  refreshTokens: post(
    '/auth/refresh',
    {
      summary: 'Refresh the tokens of a session',
      description:
        "Uses the refresh token up and gives its successor. Of parallel refreshes one wins, the others get 409 refresh_superseded and use the winner's tokens. A used token that comes back later revokes the session.",
      access: 'none',
      audit: 'none',
      body: RefreshBody,
      view: TokenView,
      identify: attemptRefresh,
      openWhenFrozen: true,
    },
    // `identified` is what attemptRefresh gave.
    async (ctx, { identified }) => refresh(ctx, identified as RefreshAttempt),
  ),

  logout: post(
    '/auth/logout',
    {
      summary: 'Sign out',
      description: 'Ends the current session: its access tokens, its refresh token, its unused stream tokens and its open streams.',
      access: 'viewer',
      audit: 'logout',
      resourceType: 'session',
      sessionOnly: true,
      notDelegable: true,
      openWhenFrozen: true,
      success: [204],
    },
    async (ctx) => {
      const { sessionId, workspaceId } = ctx.caller;

      if (sessionId === null) throw fail('scope_insufficient', { reason: 'user_session_required' });
      await revokeSession(ctx, { sessionId, reason: 'logout' });
      ctx.audit({ resourceType: 'session', resourceId: sessionId, workspaceId });
    },
  ),
};

async function logIn(ctx: Ctx, body: Static<typeof LoginBody>, { verdict, accountHash, networkAddress, userAgent }: LoginAttempt) {
  if (verdict.kind === 'refused') {
    const person = verdict.found?.person ?? null;

    await ctx.keep((unit) => recordLoginFailure(unit, { accountHash, person, networkAddress, reason: verdict.reason }));
    throw fail('login_failed');
  }
  const { person, idleDays, absoluteDays } = verdict.found;

  // A password alone must never open the session of a user who has a second factor.
  if (person.hasFactor) throw fail('mfa_required');
  const opened = await openSession(ctx, {
    person,
    passwordHash: verdict.passwordHash,
    device: { label: body.device_label ?? null, userAgent, networkAddress },
    lifetime: { idleDays: idleDays ?? defaultLifetime.idleDays, absoluteDays: absoluteDays ?? defaultLifetime.absoluteDays },
  });

  // The password or the user's state has changed since the password was verified.
  if (!opened) throw fail('login_failed');
  if (verdict.freshHash !== null) await replaceOutdatedHash(ctx, { userId: person.id, from: verdict.passwordHash, to: verdict.freshHash });
  ctx.audit({
    resourceType: 'session',
    resourceId: opened.sessionId,
    organizationId: person.organizationId,
    workspaceId: person.workspaceId,
  });
  return toLoginView(await grantOf(ctx, person.id, opened));
}

async function refresh(ctx: Ctx, { hash, found }: RefreshAttempt) {
  const issued = await rotateRefresh(ctx, { hash, idleDays: found.idleDays ?? defaultLifetime.idleDays });

  if (issued) return toTokenView(await grantOf(ctx, found.person.id, issued));
  const verdict = await judgeRefresh(ctx, hash);

  if (verdict === 'refresh_reuse_detected') {
    const sessionId = found.session.id;

    await ctx.keep(async (unit) => {
      await revokeSession(unit, { sessionId, reason: 'refresh_reuse' });
      await writeAudit(unit, {
        action: 'logout',
        operationId: ctx.operationId,
        note: {
          resourceType: 'session',
          resourceId: sessionId,
          organizationId: found.person.organizationId,
          workspaceId: found.person.workspaceId,
        },
        ip: ctx.address,
        userAgent: ctx.userAgent,
      });
    });
  }
  throw fail(verdict);
}

async function grantOf(ctx: Ctx, userId: string, refreshed: SessionGrant['refresh']): Promise<SessionGrant> {
  const user = await readUser(ctx, userId);

  // Deleted between the look-up and this transaction.
  if (!user) throw fail('session_revoked');
  const access = await ctx.deps.identity.tokens.issue({ userId, sessionId: refreshed.sessionId });

  return { access, refresh: refreshed, user };
}
