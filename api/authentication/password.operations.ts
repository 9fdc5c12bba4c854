import { changePassword, resetPassword } from '../../domain/identity/factors/credentials.ts';
import { normalizeEmail } from '../../db/identity/people/people.ts';
import { addMail } from '../../db/mail.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { post } from '../http/operation/operation.ts';
import { accountNote, keepFailure, ownAccount } from './own-account.ts';
import { attemptPasswordChange, attemptReset, countForgotten } from './password.ts';
import { PasswordChangeBody, PasswordForgotBody, PasswordResetBody } from './sign-in.schema.ts';

export const passwordOperations = {
  changePassword: post(
    '/auth/password/change',
    {
      summary: 'Change the password',
      description:
        'Replaces the password and ends every other session and connected app, and whatever else is in progress; the current session continues.',
      access: 'viewer',
      fails: ['login_failed'],
      sessionOnly: true,
      audit: 'update',
      resourceType: 'user',
      openWhenSuspended: true,
      success: [204],
      body: PasswordChangeBody,
      identify: attemptPasswordChange,
      example: { body: { current_password: 'correct horse battery staple', new_password: 'violet anchor meadow 42' } },
    },
    async (ctx, { identified }) => {
      const { email, hashes } = identified;
      const account = ownAccount(ctx.caller);
      const { userId, organizationId } = account;

      if (!hashes) {
        await keepFailure(ctx, { email, person: { id: userId, organizationId }, reason: 'wrong_password' });
        throw fail('login_failed');
      }
      await changePassword(ctx, ctx.deps.keys, { account, ...hashes });
      ctx.audit(accountNote(account, { password: { changed: true } }));
    },
  ),

  forgotPassword: post(
    '/auth/password/forgot',
    {
      summary: 'Request a password reset',
      description: 'Mails a reset link if a user has this address. The answer and its timing are the same for every address.',
      access: 'none',
      audit: 'none',
      openWhenSuspended: true,
      success: [202],
      body: PasswordForgotBody,
      identify: countForgotten,
      example: { body: { email: 'ada@example.com' } },
    },
    // Every address gets one outbox row; the worker looks up the account.
    async (ctx, { body }) => {
      await addMail(ctx, ctx.deps.keys, {
        mail: { template: 'password_reset', email: normalizeEmail(body.email) },
        rowScope: { organizationId: null, workspaceId: null },
      });
    },
  ),

  resetPassword: post(
    '/auth/password/reset',
    {
      summary: 'Set a forgotten password',
      description:
        'Consumes the token from the mail, sets the password and ends every session, and whatever else is in progress. Does not sign the user in; a second factor stays in place.',
      access: 'none',
      fails: ['gone'],
      audit: 'update',
      resourceType: 'user',
      openWhenSuspended: true,
      success: [204],
      body: PasswordResetBody,
      identify: attemptReset,
      example: { body: { token: `lh_ml_${'A'.repeat(43)}`, new_password: 'violet anchor meadow 42' } },
    },
    async (ctx, { identified }) => {
      const { token, passwordHash } = identified;
      const { id: userId, organizationId, workspaceId } = token.person;
      const account = { userId, organizationId, workspaceId };

      await resetPassword(ctx, ctx.deps.keys, { account, tokenHash: token.hash, passwordHash });
      ctx.audit(accountNote(account, { password: { changed: true } }));
    },
  ),
};
