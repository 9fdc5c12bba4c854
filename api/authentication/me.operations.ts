import { readMe } from '../../db/identity/people/me.ts';
import { confirmAddress } from '../../domain/identity/people/profile.ts';
import { get, patch, post, reply, type Ctx } from '../http/operation/operation.ts';
import { MeUpdate, MeView, toMeView } from './me.schema.ts';
import { accountNote } from './own-account.ts';
import { EmailConfirmBody } from './sign-in.schema.ts';
import { precheckUpdate, attemptConfirmation, updateProfile } from './profile.ts';

export const meOperations = {
  getMe: get(
    '/auth/me',
    {
      summary: 'Read the caller',
      description:
        'Returns who holds the credential, as whom it acts, with which role and scope, and how an operator has narrowed their view.',
      access: 'viewer',
      scope: null,
      etag: true,
      // The session changes independently of the user's version, so a 304 could hide a change.
      notModified: false,
      view: MeView,
    },
    async (ctx) => showMe(ctx),
  ),

  updateMe: patch(
    '/auth/me',
    {
      summary: 'Change your own account',
      description:
        'Changes name and locale at once. Changing the address requires a fresh step-up and takes effect when the link mailed to the new address is followed, provided that the requesting session is still active. The reply does not reveal whether the address is already taken.',
      access: 'viewer',
      fails: ['state_conflict'],
      sessionOnly: true,
      audit: 'update',
      resourceType: 'user',
      openWhenSuspended: true,
      etag: true,
      body: MeUpdate,
      view: MeView,
      identify: precheckUpdate,
      example: { body: { full_name: 'Ada Lovelace', locale: 'en-GB' } },
    },
    async (ctx, { body }) => {
      await updateProfile(ctx, body);
      return showMe(ctx);
    },
  ),

  confirmEmail: post(
    '/auth/email/confirm',
    {
      summary: 'Confirm an address',
      description:
        "Consumes the token from the mail and makes its address the user's. 409 if another user has taken the address in the meantime.",
      access: 'none',
      fails: ['already_exists', 'gone'],
      audit: 'update',
      resourceType: 'user',
      openWhenSuspended: true,
      success: [204],
      body: EmailConfirmBody,
      identify: attemptConfirmation,
      example: { body: { token: `lh_ml_${'A'.repeat(43)}` } },
    },
    async (ctx, { identified }) => {
      const { token } = identified;
      const { id: userId, organizationId, workspaceId } = token.person;

      await confirmAddress(ctx, { userId, tokenHash: token.hash });
      ctx.audit(accountNote({ userId, organizationId, workspaceId }, { email: { changed: true } }));
    },
  ),
};

async function showMe(ctx: Ctx) {
  const me = await readMe(ctx, ctx.caller);

  return reply(toMeView({ caller: ctx.caller, me, now: ctx.deps.now() }), { version: me.version });
}
