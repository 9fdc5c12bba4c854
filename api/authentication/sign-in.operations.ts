import type { Static } from 'typebox';
import { writeAudit } from '../../db/audit/audit.ts';
import { openChallenge } from '../../db/identity/challenges.ts';
import { revokeSession } from '../../db/identity/endings.ts';
import { replaceOutdatedHash } from '../../db/identity/credentials.ts';
import { notify } from '../../db/identity/notices.ts';
import { defaultLifetime, judgeRefresh, openSession, rotateRefresh, type SessionDevice } from '../../db/identity/sessions.ts';
import { newId } from '../../db/ids.ts';
import { readUser } from '../../db/tenancy/users.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { post, type Ctx } from '../http/operation/operation.ts';
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
      access: 'none',
      fails: ['login_failed'],
      audit: 'login',
      resourceType: 'session',
      example: { body: { email: 'ada@longhaul.test', password: 'violet anchor meadow 42', device_label: 'Laptop' } },
      body: LoginBody,
      view: LoginView,
      identify: attemptLogin,
      openWhenFrozen: true,
    },
    async (ctx, { body, identified }) => logIn(ctx, body, identified),
  ),

  refreshTokens: post(
    '/auth/refresh',
    {
      summary: 'Refresh the tokens of a session',
      description:
        "Uses the refresh token up and gives its successor. Of parallel refreshes one wins, the others get 409 refresh_superseded and use the winner's tokens. A used token that comes back later revokes the session.",
      access: 'none',
      fails: ['credential_invalid', 'session_revoked', 'refresh_reuse_detected', 'refresh_superseded'],
      audit: 'none',
      body: RefreshBody,
      example: { body: { refresh_token: 'lh_rt_example' } },
      view: TokenView,
      identify: attemptRefresh,
      openWhenFrozen: true,
    },
    async (ctx, { identified }) => refresh(ctx, identified),
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
      const { sessionId, organizationId, workspaceId } = ownAccount(ctx.caller);

      await revokeSession(ctx, { sessionId, reason: 'logout' });
      ctx.audit({ resourceType: 'session', resourceId: sessionId, organizationId, workspaceId });
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
  const { person, idleDays, absoluteDays } = verdict.found;
  const { id: userId } = person;
  const sessionId = newId();
  const lifetime = { idleDays: idleDays ?? defaultLifetime.idleDays, absoluteDays: absoluteDays ?? defaultLifetime.absoluteDays };

  // In one round trip: the user is read as this login leaves it, and a token without its session opens nothing.
  const [opened, user, access] = await Promise.all([
    openSession(ctx, { person, passwordHash: verdict.passwordHash, sessionId, device, lifetime }),
    readUser(ctx, userId),
    ctx.deps.identity.tokens.issue({ userId, sessionId }),
  ]);

  // The password or the user's state has changed since the password was verified, or a second factor was confirmed while this waited.
  if (!opened || !user || user.mfa_enabled) throw fail('login_failed');
  if (verdict.freshHash !== null) await replaceOutdatedHash(ctx, { userId, from: verdict.passwordHash, to: verdict.freshHash });
  ctx.audit({
    resourceType: 'session',
    resourceId: sessionId,
    organizationId: person.organizationId,
    workspaceId: person.workspaceId,
  });
  return toLoginView({ access, refresh: opened, user });
}

/** Half a sign-in: no token, and nothing to audit until the second factor. */
async function challenge(ctx: Ctx, verdict: AcceptedLogin, { label: deviceLabel }: SessionDevice) {
  const { id: userId } = verdict.found.person;
  const opened = await openChallenge(ctx, { userId, passwordHash: verdict.passwordHash, deviceLabel });

  if (!opened) throw fail('login_failed');
  if (verdict.freshHash !== null) await replaceOutdatedHash(ctx, { userId, from: verdict.passwordHash, to: verdict.freshHash });
  ctx.audit(null);
  return toChallengeView(opened);
}

async function refresh(ctx: Ctx, { hash, found }: RefreshAttempt) {
  const issued = await rotateRefresh(ctx, { hash, idleDays: found.idleDays ?? defaultLifetime.idleDays });

  if (issued) return toTokenView(await grantOf(ctx, found.person.id, issued));
  const verdict = await judgeRefresh(ctx, hash);

  if (verdict === 'refresh_reuse_detected') {
    await ctx.commitNow((tx) => endFamily(ctx, tx, found));
  }
  throw fail(verdict);
}

/** A token that comes back ends its family, is audited and told to its owner: once, of any number at once. */
async function endFamily(ctx: Ctx, tx: TenantTransaction, { session, person }: RefreshAttempt['found']): Promise<void> {
  const { id: userId, organizationId, workspaceId } = person;
  if (!(await revokeSession(tx, { sessionId: session.id, reason: 'refresh_reuse' }))) return;

  await notify(tx, ctx.deps.keys, { template: 'refresh_reuse', userId, organizationId, workspaceId });
  await writeAudit(tx, {
    action: 'logout',
    operationId: ctx.operationId,
    note: { resourceType: 'session', resourceId: session.id, organizationId, workspaceId },
    ip: ctx.address,
    userAgent: ctx.userAgent,
  });
}
