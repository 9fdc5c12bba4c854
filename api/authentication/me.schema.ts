import Type, { type Static } from 'typebox';
import type { Caller } from '../../db/caller.ts';
import type { Holder, Me } from '../../db/identity/people/me.ts';
import { iso } from '../../db/sql.ts';
import { roles, scopes } from '../../workflows/contracts/access.ts';
import { closed, Email, idOf, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';
import { SessionView, toSessionView } from '../http/views/session-view.ts';
import { toUserView, UserView } from '../http/views/user-view.ts';

const principalKinds = ['user', 'service_key', 'oauth_client'] as const;

export const MeView = closed(
  {
    principal_kind: oneOf(principalKinds),
    user: nullable(UserView),
    service_key_id: nullable(idOf('ServiceKey')),
    client_id: nullable(text(1_024)),
    role: oneOf(roles, { description: 'The effective role' }),
    scope: oneOf(scopes),
    organization_id: nullable(idOf('Organization')),
    workspace_id: nullable(idOf('Workspace')),
    workspace_ids: listOf(idOf('Workspace'), { maxItems: 1_000, description: 'Workspaces that the caller can see' }),
    acting_user: nullable(UserView),
    view: nullable(closed({ organization_id: nullable(idOf('Organization')), workspace_id: nullable(idOf('Workspace')) })),
    session: nullable(SessionView),
    scopes: nullable(listOf(text(60), { maxItems: 40, description: 'Scopes of a key or token; null means unrestricted' })),
    mfa: nullable(closed({ enrolled: Type.Boolean(), required: Type.Boolean(), fresh_until: nullable(Timestamp) })),
    impersonation_id: nullable(idOf('Impersonation')),
    locale: nullable(text(35)),
    pending_email: nullable(Email),
  },
  { $id: 'MeView', description: 'Who is calling, as whom, and what they can see' },
);

export const MeUpdate = closed(
  {
    full_name: Type.Optional(nullable(text(200, { minLength: 1 }))),
    locale: Type.Optional(nullable(text(35, { minLength: 2, description: 'A BCP 47 language tag' }))),
    email: Type.Optional(Email),
  },
  { $id: 'MeUpdate', description: 'The fields that are sent are changed; the address only once it is confirmed' },
);

export function toMeView({ caller, me, now }: { caller: Caller; me: Me; now: Date }): Static<typeof MeView> {
  const { holder } = me;

  return {
    principal_kind: caller.kind === 'service_key' || caller.kind === 'oauth_client' ? caller.kind : 'user',
    user: holder && toUserView(holder.user),
    service_key_id: caller.kind === 'service_key' ? caller.principalId : null,
    client_id: caller.clientId,
    role: caller.role,
    scope: caller.scope,
    organization_id: caller.organizationId,
    workspace_id: caller.workspaceId,
    workspace_ids: [...me.workspaceIds],
    acting_user: me.actingUser && toUserView(me.actingUser),
    view: caller.view && { organization_id: caller.view.organizationId, workspace_id: caller.view.workspaceId },
    session: holder?.session ? toSessionView(holder.session, caller.sessionId) : null,
    scopes: caller.scopes && [...caller.scopes],
    mfa: holder && toMfaView(holder, now),
    impersonation_id: caller.impersonationId,
    locale: holder?.locale ?? null,
    pending_email: holder?.pendingEmail ?? null,
  };
}

function toMfaView(holder: Holder, now: Date) {
  const freshUntil = holder.freshUntil === null ? null : new Date(holder.freshUntil);

  return {
    enrolled: holder.user.mfaEnabled,
    required: holder.isFactorRequired,
    fresh_until: freshUntil && freshUntil > now ? iso(freshUntil) : null,
  };
}
