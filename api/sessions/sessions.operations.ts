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
      summary: 'List your sessions',
      description: "The caller's own devices and connected apps, newest first; ended ones only on request.",
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
      description: 'Returns the session of the access token. 404 for an impersonation, which has no session.',
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
      summary: 'Read one of your sessions',
      description: "Returns one of the caller's own devices or connected apps, live or ended; 404 for those of others.",
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
        'Ends a session with its tokens and open streams at once, together with what was requested in it: a change of address, an unused code. Ending the current session is a logout. Repeating the request returns the same answer.',
      audit: 'logout',
      params: SessionParams,
    },
    async (ctx, { params }) => {
      const session = await readSession(ctx, { userId: ownerOf(ctx.caller), sessionId: params.session_id });

      await endSession(ctx, { sessionId: session.id, reason: session.id === ctx.caller.sessionId ? 'logout' : 'revoked' });
      ctx.audit({ resourceType: 'session', resourceId: session.id, ...rowScopeOf(ctx) });
    },
  ),

  revokeOtherSessions: post(
    '/sessions/revoke-others',
    {
      ...own,
      summary: 'Sign every other device out',
      description:
        "Ends all of the caller's sessions except the current one, including connected apps, and whatever is in progress: unfinished sign-ins, mailed links, a change of address.",
      audit: 'logout',
      success: [200],
      view: SessionRevocationView,
    },
    async (ctx) => {
      const userId = ownerOf(ctx.caller);
      const ids = await endOtherSessions(ctx, { userId, exceptSessionId: ctx.caller.sessionId });

      ctx.audit({
        resourceType: 'user',
        resourceId: userId,
        ...rowScopeOf(ctx),
        changes: { revoked_count: { from: null, to: ids.length } },
      });
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
        "Ends all sessions of a user whom the caller can see and who doesn't have a higher role than the caller, including connected apps, and whatever is in progress: unfinished sign-ins, mailed links, a change of address.",
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

/** The scope of the audit entry for a caller's action on their own account: for an operator no organization, whatever the view. */
function rowScopeOf({ caller }: Pick<Ctx, 'caller'>): { organizationId: string | null; workspaceId: string | null } {
  return caller.role === 'operator'
    ? { organizationId: null, workspaceId: null }
    : { organizationId: caller.organizationId, workspaceId: caller.workspaceId };
}
