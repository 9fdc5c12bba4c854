import { readMe } from '../../db/identity/me.ts';
import { get, reply } from '../http/operation.ts';
import { MeView, toMeView } from './me.schema.ts';

export const meOperations = {
  getMe: get(
    '/auth/me',
    {
      summary: 'Read the caller',
      description: 'Who holds the credential, as whom it acts, with which role and scope, and the narrowing of an operator.',
      access: 'viewer',
      scope: null,
      etag: true,
      // The session changes beside the user's version, so a 304 could hide a change.
      notModified: false,
      view: MeView,
    },
    async (ctx) => {
      const me = await readMe(ctx, ctx.caller);

      return reply(toMeView({ caller: ctx.caller, me, now: ctx.deps.now() }), { version: me.version });
    },
  ),
};
