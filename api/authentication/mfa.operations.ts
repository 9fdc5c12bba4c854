import { newTotpSecret, otpauthUri } from '../../db/identity/factors/totp.ts';
import { readUser } from '../../db/tenancy/people/users.ts';
import { confirmFactor, removeOwnFactor, renewRecoveryCodes, storeFactor } from '../../domain/identity/factors/factors.ts';
import { fail } from '../../workflows/contracts/failure.ts';
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
        'Without a bearer: completes the sign-in of a challenge. With the bearer of a session: makes it fresh for ten minutes and gives a new access token, no refresh token; where there is a second factor, only that does. Wrong, over-tried, used and expired are one answer.',
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

      return attempt.kind === 'challenge' ? completeLogin(ctx, shown, attempt) : stepUp(ctx, shown, attempt);
    },
  ),

  enrolTotp: post(
    '/auth/mfa/totp',
    {
      ...bySession,
      summary: 'Begin with a second factor',
      description:
        'Gives a secret for an authenticator app, in place of an older unconfirmed one. It counts once a code has confirmed it within 15 minutes. Needs a password verified within the last 10 minutes.',
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
        'Switches the factor on with a code of the app and gives ten recovery codes, shown this once. Ends every other session and connected app, and whatever else is under way. Needs a password verified within the last 10 minutes.',
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
        'Takes factor and recovery codes away and ends every other session and connected app, and whatever else is under way. Not while the organization demands a factor.',
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
      summary: 'Make new recovery codes',
      description: 'Gives ten new recovery codes, shown this once; the old ones are dead. A mail tells of it.',
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

/** Guesses count against the user. */
async function countConfirmation({ caller, limits }: IdentifyRequest): Promise<void> {
  await limits.consume([{ policy: 'mfa', key: ownAccount(caller).userId }]);
}

async function confirm(ctx: Ctx, code: string) {
  const account = ownAccount(ctx.caller);
  const made = await confirmFactor(ctx, ctx.deps.keys, { account, code, now: ctx.deps.now() });

  ctx.audit(accountNote(account, { mfa_enabled: { from: false, to: true } }));
  return toRecoveryCodesView(made);
}
