import type { Static } from 'typebox';
import type { SessionDevice } from '../../db/identity/sessions/sessions.ts';
import { endSession } from '../../domain/identity/sessions/sessions.ts';
import { challengeSignIn, endFamily, refreshSession, signIn } from '../../domain/identity/factors/sign-in.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { clearedCookie, inRefreshCookie, mayUseRefreshCookie, refreshCookieOf } from '../http/credentials/refresh-cookie.ts';
import { post, reply, type Ctx } from '../http/operation/operation.ts';
import { LoginView, TokenView, toChallengeView, toLoginView, toTokenView } from '../http/views/login-view.ts';
import { grantOf, ownAccount } from './own-account.ts';
import { LoginBody, RefreshBody } from './sign-in.schema.ts';
import { attemptLogin, attemptRefresh, type AcceptedLogin, type LoginAttempt, type RefreshAttempt } from './sign-in.ts';

export const signInOperations = {
  login: post(
    '/auth/login',
    {
      summary: 'Sign in',
      description:
        'Opens a session with an email address and a password. A user with a second factor gets a challenge instead, to be answered at POST /auth/mfa/verify. Every wrong combination gets the same answer in the same time.',
      ...mayUseRefreshCookie,
      access: 'none',
      fails: ['login_failed', 'resource_forbidden'],
      audit: 'login',
      resourceType: 'session',
      example: { body: { email: 'ada@longhaul.test', password: 'violet anchor meadow 42', device_label: 'Laptop' } },
      body: LoginBody,
      view: LoginView,
      identify: attemptLogin,
      openWhenSuspended: true,
    },
    async (ctx, { body, identified }) => inRefreshCookie(ctx, identified.cookie, await logIn(ctx, body, identified)),
  ),

  refreshTokens: post(
    '/auth/refresh',
    {
      summary: 'Refresh the tokens of a session',
      description:
        "Consumes the refresh token and returns its successor. Of parallel refreshes, one wins; the others get 409 refresh_superseded and should use the winner's tokens. Reusing a consumed token later revokes the session. With X-Refresh-Cookie, the token comes from the cookie, and the body says `cookie` in its place.",
      ...mayUseRefreshCookie,
      access: 'none',
      fails: ['credential_invalid', 'session_revoked', 'refresh_reuse_detected', 'refresh_superseded', 'resource_forbidden'],
      audit: 'none',
      body: RefreshBody,
      example: { body: { refresh_token: 'lh_rt_example' } },
      view: TokenView,
      identify: attemptRefresh,
      openWhenSuspended: true,
    },
    async (ctx, { identified }) => inRefreshCookie(ctx, identified.cookie, await refresh(ctx, identified)),
  ),

  logout: post(
    '/auth/logout',
    {
      summary: 'Sign out',
      description:
        'Ends the current session: its access tokens, its refresh token, its unused stream tokens and its open streams. With X-Refresh-Cookie, the cookie is deleted.',
      ...mayUseRefreshCookie,
      access: 'viewer',
      audit: 'logout',
      resourceType: 'session',
      sessionOnly: true,
      notDelegable: true,
      openWhenSuspended: true,
      success: [204],
      identify: async (request) => ({ cookie: refreshCookieOf(request) }),
    },
    async (ctx, { identified: { cookie } }) => {
      const { sessionId, organizationId, workspaceId } = ownAccount(ctx.caller);

      await endSession(ctx, { sessionId, reason: 'logout' });
      ctx.audit({ resourceType: 'session', resourceId: sessionId, organizationId, workspaceId });
      return reply(undefined, cookie ? { headers: clearedCookie(cookie) } : {});
    },
  ),
};

async function logIn(ctx: Ctx, body: Static<typeof LoginBody>, { verdict, networkAddress, userAgent }: LoginAttempt) {
  if (verdict.kind === 'refused') throw fail('login_failed');
  const device = { label: body.device_label ?? null, userAgent, networkAddress };

  // A password alone must never open the session of a user who has a second factor.
  const view = verdict.found.person.hasFactor ? await challenge(ctx, verdict, device) : await session(ctx, verdict, device);
  await verdict.rewarded;
  return view;
}

async function session(ctx: Ctx, verdict: AcceptedLogin, device: SessionDevice) {
  const { person } = verdict.found;
  const opened = await signIn(ctx, verdict, { device, issue: (ids) => ctx.deps.identity.tokens.issue(ids) });

  ctx.audit({
    resourceType: 'session',
    resourceId: opened.refresh.sessionId,
    organizationId: person.organizationId,
    workspaceId: person.workspaceId,
  });
  return toLoginView(opened);
}

/** Half of a sign-in: it issues no token, and there is nothing to audit until the second factor. */
async function challenge(ctx: Ctx, verdict: AcceptedLogin, { label }: SessionDevice) {
  const opened = await challengeSignIn(ctx, verdict, label);

  ctx.audit(null);
  return toChallengeView(opened);
}

async function refresh(ctx: Ctx, { hash, found }: RefreshAttempt) {
  const issued = await refreshSession(ctx, { hash, idleDays: found.idleDays });

  if (typeof issued !== 'string') return toTokenView(await grantOf(ctx, found.person.id, issued));
  if (issued === 'refresh_reuse_detected') {
    const request = { operationId: ctx.operationId, ip: ctx.address, userAgent: ctx.userAgent };
    await ctx.commitNow((tx) => endFamily(tx, ctx.deps.keys, { found, request }));
  }
  throw fail(issued);
}
