import { newTotpSecret, otpauthUri } from '../../db/identity/factors/totp.ts';
import { readUser } from '../../db/tenancy/people/users.ts';
import { confirmFactor, removeOwnFactor, renewRecoveryCodes, storeFactor } from '../../domain/identity/factors/factors.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { inRefreshCookie, mayUseRefreshCookie } from '../http/credentials/refresh-cookie.ts';
import { TokenView } from '../http/views/login-view.ts';
import { post, remove, type Ctx, type IdentifyRequest } from '../http/operation/operation.ts';
import {
  MfaVerifyBody,
  RecoveryCodesView,
  TotpConfirmBody,
  TotpEnrolmentView,
  toRecoveryCodesView,
  toTotpEnrolmentView,
} from './mfa.schema.ts';
import { accountNote, ownAccount } from './own-account.ts';
import { attemptMfa, completeLogin, stepUp } from './verify-mfa.ts';

const bySession = { access: 'viewer', sessionOnly: true, resourceType: 'user', openWhenSuspended: true } as const;

export const mfaOperations = {
  verifyMfa: post(
    '/auth/mfa/verify',
    {
      summary: 'Answer a challenge, or step up',
      description:
        'Without a bearer token: completes the sign-in of a challenge. With the bearer token of a session: makes the session fresh for ten minutes and returns a new access token, but no refresh token; a user with a second factor must use it. A wrong, exhausted, used or expired code or challenge gets the same answer.',
      ...mayUseRefreshCookie,
      access: 'none',
      fails: ['mfa_code_invalid', 'scope_insufficient', 'state_conflict'],
      takesSession: true,
      sessionOnly: true,
      audit: 'login',
      resourceType: 'session',
      openWhenSuspended: true,
      body: MfaVerifyBody,
      view: TokenView,
      success: [200],
      identify: attemptMfa,
      example: { body: { challenge_id: '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b', method: 'totp', code: '123456' } },
    },
    async (ctx, { body, identified }) => {
      const attempt = identified;
      const shown = { method: body.method ?? 'totp', code: body.code };

      if (attempt.kind === 'step_up') return stepUp(ctx, shown, attempt);
      return inRefreshCookie(ctx, attempt.cookie, await completeLogin(ctx, shown, attempt));
    },
  ),

  enrolTotp: post(
    '/auth/mfa/totp',
    {
      ...bySession,
      summary: 'Start enrolling a second factor',
      description:
        'Returns a secret for an authenticator app and replaces an earlier unconfirmed one. It takes effect once it is confirmed with a code within 15 minutes. Requires a password verified within the last 10 minutes.',
      audit: 'update',
      fails: ['state_conflict'],
      stepUp: true,
      success: [201],
      secretReply: true,
      view: TotpEnrolmentView,
    },
    async (ctx) => {
      const account = ownAccount(ctx.caller);
      const user = await readUser(ctx, account.userId);
      if (!user) throw fail('session_revoked');
      const secret = newTotpSecret();
      const expiresAt = await storeFactor(ctx, ctx.deps.keys, { ...account, secret });

      ctx.audit(accountNote(account, { totp_secret: { changed: true } }));
      return toTotpEnrolmentView({ secret, otpauthUri: otpauthUri(secret, user.email), expiresAt });
    },
  ),

  confirmTotp: post(
    '/auth/mfa/totp/confirm',
    {
      ...bySession,
      summary: 'Confirm a second factor',
      description:
        'Enables the factor with a code from the app and returns ten recovery codes, shown only once. Ends every other session and connected app, and whatever else is in progress. Requires a password verified within the last 10 minutes.',
      audit: 'update',
      fails: ['mfa_code_invalid', 'state_conflict', 'gone'],
      stepUp: true,
      success: [200],
      secretReply: true,
      body: TotpConfirmBody,
      view: RecoveryCodesView,
      identify: countConfirmation,
    },
    async (ctx, { body }) => confirm(ctx, body.code),
  ),

  removeTotp: remove(
    '/auth/mfa/totp',
    {
      ...bySession,
      summary: 'Remove the second factor',
      description:
        'Removes the factor and the recovery codes and ends every other session and connected app, and whatever else is in progress. Not possible while the organization requires a factor.',
      audit: 'update',
      fails: ['state_conflict'],
      stepUp: true,
    },
    async (ctx) => {
      const account = ownAccount(ctx.caller);
      const isConfirmed = await removeOwnFactor(ctx, ctx.deps.keys, account);

      ctx.audit(accountNote(account, isConfirmed ? { mfa_enabled: { from: true, to: false } } : {}));
    },
  ),

  regenerateRecoveryCodes: post(
    '/auth/mfa/recovery-codes',
    {
      ...bySession,
      summary: 'Create new recovery codes',
      description: 'Returns ten new recovery codes, shown only once; the old ones stop working. The user is notified by mail.',
      audit: 'update',
      fails: ['state_conflict'],
      stepUp: true,
      success: [200],
      secretReply: true,
      view: RecoveryCodesView,
    },
    async (ctx) => {
      const account = ownAccount(ctx.caller);
      const made = await renewRecoveryCodes(ctx, ctx.deps.keys, account);

      ctx.audit(accountNote(account, { recovery_codes: { changed: true } }));
      return toRecoveryCodesView(made);
    },
  ),
};

/** Counts a guess against the user. */
async function countConfirmation({ caller, limits }: IdentifyRequest): Promise<void> {
  await limits.consume([{ policy: 'mfa', key: ownAccount(caller).userId }]);
}

async function confirm(ctx: Ctx, code: string) {
  const account = ownAccount(ctx.caller);
  const made = await confirmFactor(ctx, ctx.deps.keys, { account, code, now: ctx.deps.now() });

  ctx.audit(accountNote(account, { mfa_enabled: { from: false, to: true } }));
  return toRecoveryCodesView(made);
}
