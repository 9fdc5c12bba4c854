import { noteOfRow } from '../http/operation/audit.ts';
import { mapPage } from '../../db/page.ts';
import { standingFor } from '../../domain/tenancy/standing.ts';
import { listUserRows, seeUser } from '../../db/identity/people/users.ts';
import { createUser } from '../../domain/tenancy/new-user.ts';
import { deactivateUser, eraseUser, lockUser, refuseLast, setActive, setFullName, setStanding } from '../../domain/tenancy/user-changes.ts';
import { get, list, patch, post, put, remove, reply } from '../http/operation/operation.ts';
import { toUserView, UserView } from '../http/views/user-view.ts';
import { changesOf, hasAny } from '../http/operation/changes.ts';
import { prepareUser } from './new-user.ts';
import { UserCreate, UserParams, UserQuery, UserRolePut, UserUpdate } from './user.schema.ts';

const standing = ['role', 'scope', 'workspace_id'] as const;

export const userOperations = {
  listUsers: list(
    '/users',
    {
      summary: 'List users',
      description: 'Users that the caller can see, newest first. q searches address and name.',
      access: 'admin',
      paging: 'keyset',
      query: UserQuery,
      view: UserView,
    },
    async (ctx, { query: { workspace_id: workspaceId, is_active: isActive, ...filters } }) =>
      mapPage(await listUserRows(ctx, { ...filters, workspaceId, isActive }, ctx.page), toUserView),
  ),

  createUser: post(
    '/users',
    {
      summary: 'Create a user',
      description:
        "Creates a user with at most the caller's own role; a service key or a connected app can only create viewers and members, and cannot set a password. Without a password, the user gets a mail to choose one. 409 if the address is in use anywhere; at most 200 users per organization and day.",
      access: 'admin',
      fails: ['not_found', 'already_exists'],
      audit: 'create',
      // An account created on another user's behalf would outlive the delegation.
      notDelegable: true,
      idempotent: true,
      location: (view: { readonly id: string }) => `/users/${view.id}`,
      identify: prepareUser,
      body: UserCreate,
      view: UserView,
      example: { body: { email: 'ada@example.com', full_name: 'Ada Lovelace', role: 'member', password: 'violet anchor meadow 42' } },
    },
    async (ctx, { body, identified }) => {
      const user = await createUser(ctx, ctx.deps.keys, { asked: body, ...identified });
      const { role, scope, workspaceId } = user;
      ctx.audit(
        noteOfRow('user', user, {
          email: { changed: true },
          ...(user.fullName === null ? {} : { full_name: { changed: true } }),
          role: { from: null, to: role },
          scope: { from: null, to: scope },
          workspace_id: { from: null, to: workspaceId },
        }),
      );
      return toUserView(user);
    },
  ),

  getUser: get(
    '/users/{user_id}',
    {
      summary: 'Read a user',
      description: "Returns the caller's own user, or another user that the caller can see.",
      access: 'viewer',
      etag: true,
      // last_login_at changes independently of the version.
      notModified: false,
      params: UserParams,
      view: UserView,
    },
    async (ctx, { params }) => {
      const user = await seeUser(ctx, params.user_id);
      return reply(toUserView(user), { version: user.version });
    },
  ),

  updateUser: patch(
    '/users/{user_id}',
    {
      summary: 'Change a user',
      description: 'Changes the name: users can change their own, admins those of others. Users change their own address at /auth/me.',
      access: 'viewer',
      audit: 'update',
      etag: true,
      params: UserParams,
      body: UserUpdate,
      example: { body: { full_name: 'Ada Lovelace' } },
      view: UserView,
    },
    async (ctx, { params, body }) => {
      const user = await lockUser(ctx, params.user_id, { floor: 'admin', allowsOneself: true, isHarmless: true });
      const isChanged = body.full_name !== undefined && body.full_name !== user.fullName;
      const changed = isChanged ? await setFullName(ctx, user, body.full_name ?? null) : user;

      ctx.audit(noteOfRow('user', changed, isChanged ? { full_name: { changed: true } } : {}));
      return reply(toUserView(changed), { version: changed.version });
    },
  ),

  setUserRole: put(
    '/users/{user_id}/role',
    {
      summary: 'Set role, scope and home of a user',
      description:
        "Sets a role of at most the caller's own for a user who doesn't have a higher role than the caller; takes effect on the next request. A role above member requires a user session. An organization must keep at least one active owner.",
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      notDelegable: true,
      params: UserParams,
      body: UserRolePut,
      view: UserView,
      example: { body: { role: 'member' } },
    },
    async (ctx, { params, body }) => {
      const user = await lockUser(ctx, params.user_id, { floor: 'admin', mayLoseOwner: true });
      const wanted = await standingFor(ctx, user, body);
      const changes = changesOf(toUserView(user), toUserView({ ...user, ...wanted }), standing);
      if ('role' in changes || 'scope' in changes) refuseLast(user);
      const changed = hasAny(changes) ? await setStanding(ctx, user, wanted) : user;

      ctx.audit(noteOfRow('user', changed, changes));
      return toUserView(changed);
    },
  ),

  deactivateUser: post(
    '/users/{user_id}/deactivate',
    {
      summary: 'Deactivate a user',
      description: 'Ends all sessions, service keys and streams of a user at once; reactivating the user does not restore them.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      notDelegable: true,
      success: [200],
      params: UserParams,
      view: UserView,
    },
    async (ctx, { params }) => {
      const user = await lockUser(ctx, params.user_id, { floor: 'admin', mayLoseOwner: true });
      const changed = await deactivateUser(ctx, user);

      ctx.audit(noteOfRow('user', changed, changesOf(toUserView(user), toUserView(changed), ['is_active'])));
      return toUserView(changed);
    },
  ),

  reactivateUser: post(
    '/users/{user_id}/reactivate',
    {
      summary: 'Reactivate a user',
      description:
        'Lets a deactivated user sign in again. Ended sessions and keys stay ended. A user with a role above member requires a user session.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      notDelegable: true,
      success: [200],
      params: UserParams,
      view: UserView,
    },
    async (ctx, { params }) => {
      const user = await lockUser(ctx, params.user_id, { floor: 'admin' });
      const changed = user.isActive ? user : await setActive(ctx, user);

      ctx.audit(noteOfRow('user', changed, changesOf(toUserView(user), toUserView(changed), ['is_active'])));
      return toUserView(changed);
    },
  ),

  deleteUser: remove(
    '/users/{user_id}',
    {
      summary: 'Delete a user',
      description:
        'Erases address, name, credentials, grants, sessions and keys in one step; the id stays in the audit log, and the address becomes available again.',
      access: 'owner',
      fails: ['state_conflict'],
      audit: 'delete',
      notDelegable: true,
      openWhenSuspended: true,
      params: UserParams,
    },
    async (ctx, { params }) => {
      const user = await lockUser(ctx, params.user_id, { floor: 'owner', mayLoseOwner: true, openWhenSuspended: true });
      await eraseUser(ctx, user);

      ctx.audit(noteOfRow('user', user, { email: { changed: true }, ...(user.fullName === null ? {} : { full_name: { changed: true } }) }));
    },
  ),
};
