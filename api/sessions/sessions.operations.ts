import { noteOfRow } from '../http/operation/audit.ts';
import type { Caller } from '../../db/caller.ts';
import { endAllSessions, endOtherSessions, endSession } from '../../domain/identity/sessions/sessions.ts';
import { listSessions, readSession } from '../../db/identity/sessions/session-list.ts';
import { mapPage } from '../../db/page.ts';
import { lockUser } from '../../domain/tenancy/user-changes.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { area, get, list, post, remove, type Ctx } from '../http/operation/operation.ts';
import { SessionView, toSessionView } from '../http/views/session-view.ts';
import { SessionOwnerParams, SessionParams, SessionQuery, SessionRevocationView, toSessionRevocationView } from './session.schema.ts';

const own = { access: 'viewer', sessionOnly: true, resourceType: 'session', openWhenSuspended: true } as const;

/** Login device families: the caller's own devices and connected apps. */
export const sessions = area('Sessions', {
  listSessions: list(
    '/sessions',
    {
      ...own,
      summary: "List one's sessions",
      description: "The caller's own devices and connected apps, newest first; ended ones only when asked for.",
      paging: 'keyset',
      query: SessionQuery,
      view: SessionView,
    },
    async (ctx, { query }) => {
      const filters = { kind: query.kind, includesRevoked: query.include_revoked ?? false };
      const page = await listSessions(ctx, { userId: ownerOf(ctx.caller), filters, page: ctx.page });

      return mapPage(page, (session) => toSessionView(session, ctx.caller.sessionId));
    },
  ),

  getCurrentSession: get(
    '/sessions/current',
    {
      ...own,
      summary: 'Read the current session',
      description: 'The session of the access token. An impersonation has none: 404.',
      view: SessionView,
    },
    async (ctx) => {
      const { sessionId } = ctx.caller;

      if (sessionId === null) throw fail('not_found');
      return toSessionView(await readSession(ctx, { userId: ownerOf(ctx.caller), sessionId }), sessionId);
    },
  ),

  getSession: get(
    '/sessions/{session_id}',
    {
      ...own,
      summary: "Read one of one's sessions",
      description: "A device or connected app of the caller's own, live or ended; another's is 404.",
      params: SessionParams,
      view: SessionView,
    },
    async (ctx, { params }) =>
      toSessionView(await readSession(ctx, { userId: ownerOf(ctx.caller), sessionId: params.session_id }), ctx.caller.sessionId),
  ),

  revokeSession: remove(
    '/sessions/{session_id}',
    {
      ...own,
      summary: 'Sign a device out',
      description:
        'Ends a session with its tokens and open streams at once, and what was asked for in it: a change of address, an unused code; of the current one it is a logout. Asking again gives the same answer.',
      audit: 'logout',
      params: SessionParams,
    },
    async (ctx, { params }) => {
      const session = await readSession(ctx, { userId: ownerOf(ctx.caller), sessionId: params.session_id });

      await endSession(ctx, { sessionId: session.id, reason: session.id === ctx.caller.sessionId ? 'logout' : 'revoked' });
      ctx.audit({ resourceType: 'session', resourceId: session.id, ...homeOf(ctx) });
    },
  ),

  revokeOtherSessions: post(
    '/sessions/revoke-others',
    {
      ...own,
      summary: 'Sign every other device out',
      description:
        "Ends all of the caller's sessions but the current one, connected apps too, and whatever is under way: half-done sign-ins, links of mails, a change of address.",
      audit: 'logout',
      success: [200],
      view: SessionRevocationView,
    },
    async (ctx) => {
      const userId = ownerOf(ctx.caller);
      const ids = await endOtherSessions(ctx, { userId, exceptSessionId: ctx.caller.sessionId });

      ctx.audit({ resourceType: 'user', resourceId: userId, ...homeOf(ctx), changes: { revoked_count: { from: null, to: ids.length } } });
      return toSessionRevocationView(ids);
    },
  ),

  revokeUserSessions: post(
    '/users/{user_id}/sessions/revoke-all',
    {
      ...own,
      access: 'admin',
      summary: 'Sign a user out everywhere',
      description:
        "Ends all sessions of a user whom the caller sees and who doesn't outrank the caller, connected apps too, and whatever is under way: half-done sign-ins, links of mails, a change of address.",
      audit: 'logout',
      success: [200],
      params: SessionOwnerParams,
      view: SessionRevocationView,
    },
    async (ctx, { params }) => {
      const user = await lockUser(ctx, params.user_id, { floor: 'admin', allowsOneself: true, openWhenSuspended: true });
      const ids = await endAllSessions(ctx, user.id);

      ctx.audit(noteOfRow('user', user, { revoked_count: { from: null, to: ids.length } }));
      return toSessionRevocationView(ids);
    },
  ),
});

/** Whose sessions are one's own; inside an impersonation the target's. */
function ownerOf({ userId }: Caller): string {
  if (userId === null) throw fail('scope_insufficient', { reason: 'user_session_required' });
  return userId;
}

/** Where the entry of what one does to oneself belongs: of an operator to no organization, whatever the view. */
function homeOf({ caller }: Pick<Ctx, 'caller'>): { organizationId: string | null; workspaceId: string | null } {
  return caller.role === 'operator'
    ? { organizationId: null, workspaceId: null }
    : { organizationId: caller.organizationId, workspaceId: caller.workspaceId };
}
