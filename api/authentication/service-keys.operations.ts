import type { Static } from 'typebox';
import { lockMaker, rankOfMaker } from '../../db/identity/maker.ts';
import { ServiceKey } from '../../db/identity/service-key.entity.ts';
import { newServiceKeyPlaintext, serviceKeyHash, shownEnds } from '../../db/identity/service-key-format.ts';
import { listServiceKeys } from '../../db/identity/service-keys.ts';
import { mapPage } from '../../db/page.ts';
import { see, seeForChange } from '../../db/scope.ts';
import { resolveNewRowScope } from '../../db/new-row-scope.ts';
import { rankOf } from '../../workflows/contracts/access.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { get, list, post, remove, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import {
  ServiceKeyCreate,
  ServiceKeyParams,
  ServiceKeyQuery,
  ServiceKeySecretView,
  ServiceKeyView,
  toServiceKeySecretView,
  toServiceKeyView,
} from './service-key.schema.ts';

// Keys are made and ended by people, never by keys and never in somebody else's name; also while the tenant is frozen.
const byPeople = { access: 'admin', resourceType: 'service_key', sessionOnly: true, notDelegable: true, openWhenFrozen: true } as const;

export const serviceKeyOperations = {
  createServiceKey: post(
    '/service-keys',
    {
      ...byPeople,
      summary: 'Issue a service key',
      description: 'Creates a key whose role is at most that of the caller.',
      audit: 'create',
      fails: ['not_found'],
      idempotent: true,
      secretReply: true,
      example: {
        body: {
          name: 'Order desk',
          role: 'member',
          scope: 'workspace',
          workspace_id: '01960000-0000-7000-8000-000000000006',
          scopes: ['runs:read', 'runs:write', 'attachments:write'],
        },
      },
      body: ServiceKeyCreate,
      view: ServiceKeySecretView,
      location: (view: Static<typeof ServiceKeySecretView>) => `/service-keys/${view.id}`,
    },
    async (ctx, { body }) => createKey(ctx, body),
  ),

  listServiceKeys: list(
    '/service-keys',
    {
      ...byPeople,
      summary: 'List service keys',
      description: "Keys of the caller's workspaces and organization, without plaintexts; revoked ones only when asked for.",
      query: ServiceKeyQuery,
      view: ServiceKeyView,
      paging: 'keyset',
    },
    async (ctx, { query }) => {
      const now = ctx.deps.now();
      const filters = { q: query.q, role: query.role, workspaceId: query.workspace_id, includesRevoked: query.include_revoked ?? false };

      return mapPage(await listServiceKeys(ctx, { filters, page: ctx.page }), (key) => toServiceKeyView(key, now));
    },
  ),

  getServiceKey: get(
    '/service-keys/{key_id}',
    {
      ...byPeople,
      summary: 'Read a service key',
      description: 'The key without its plaintext.',
      params: ServiceKeyParams,
      view: ServiceKeyView,
    },
    async (ctx, { params }) => toServiceKeyView(await see(ctx, ServiceKey, params.key_id), ctx.deps.now()),
  ),

  rotateServiceKey: post(
    '/service-keys/{key_id}/rotate',
    {
      ...byPeople,
      summary: 'Rotate a service key',
      description: 'Gives a new plaintext; the old one is dead at once, without overlap. A revoked or expired key is 409.',
      audit: 'update',
      fails: ['state_conflict'],
      secretReply: true,
      params: ServiceKeyParams,
      view: ServiceKeySecretView,
      success: [200],
    },
    async (ctx, { params }) => rotateKey(ctx, params.key_id),
  ),

  revokeServiceKey: remove(
    '/service-keys/{key_id}',
    {
      ...byPeople,
      summary: 'Revoke a service key',
      description: 'Ends the key and its open streams at once; asking again gives the same answer.',
      audit: 'delete',
      params: ServiceKeyParams,
    },
    async (ctx, { params }) => {
      const key = await seeForChange(ctx, ServiceKey, params.key_id, { openWhenFrozen: true });

      key.revokedAt ??= ctx.deps.now();
      ctx.outgoing.revoked.push(`service_key:${key.id}`);
      ctx.audit(noteOf(key));
    },
  ),
};

async function createKey(ctx: Ctx, body: Static<typeof ServiceKeyCreate>) {
  const now = ctx.deps.now();
  const expiresAt = body.expires_at ? new Date(body.expires_at) : null;
  const role = body.role ?? 'member';

  if (expiresAt && expiresAt <= now) throw invalid('/expires_at', 'range', 'expires_at must lie in the future');
  const home = await homeOfNewKey(ctx, body);
  const createdByUserId = await lockCreator(ctx, { role, workspaceId: home.workspaceId });
  const plaintext = newServiceKeyPlaintext();
  const key = ctx.em.create(ServiceKey, {
    organizationId: home.organizationId,
    workspaceId: home.workspaceId,
    scope: home.workspaceId === null ? 'organization' : 'workspace',
    name: body.name,
    role,
    scopes: body.scopes ?? ['*'],
    ...shownEnds(plaintext),
    keyHash: serviceKeyHash(plaintext, ctx.deps.keys.peppers),
    createdByUserId,
    expiresAt,
  });

  await ctx.em.flush();
  ctx.audit({
    ...noteOf(key),
    changes: { role: { to: key.role }, scope: { to: key.scope }, scopes: { to: key.scopes }, expires_at: { to: body.expires_at ?? null } },
  });
  return toServiceKeySecretView(key, { plaintext, now });
}

async function rotateKey(ctx: Ctx, id: string) {
  const now = ctx.deps.now();
  const key = await seeForChange(ctx, ServiceKey, id, { openWhenFrozen: true });

  if (key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now)) {
    throw fail('state_conflict', { reason: 'key_revoked', detail: "a revoked or expired key can't be rotated" });
  }
  const plaintext = newServiceKeyPlaintext();
  const { prefix, last4 } = shownEnds(plaintext);

  key.prefix = prefix;
  key.last4 = last4;
  key.keyHash = serviceKeyHash(plaintext, ctx.deps.keys.peppers);
  key.rotatedAt = now;
  await ctx.em.flush();
  // The database has said when it was written.
  await ctx.em.refresh(key);
  // Streams that the old plaintext opened end too.
  ctx.outgoing.revoked.push(`service_key:${key.id}`);
  ctx.audit({
    ...noteOf(key),
    changes: { plaintext: { changed: true } },
  });
  return toServiceKeySecretView(key, { plaintext, now });
}

/** What every audit entry of a key names. */
function noteOf(key: ServiceKey): AuditNote {
  return {
    resourceType: 'service_key',
    resourceId: key.id,
    label: key.name,
    organizationId: key.organizationId,
    workspaceId: key.workspaceId,
  };
}

// A key is of one workspace or of the organization, never of the platform.
async function homeOfNewKey(
  ctx: Ctx,
  body: Static<typeof ServiceKeyCreate>,
): Promise<{ organizationId: string; workspaceId: string | null }> {
  const scope = body.scope ?? (body.workspace_id ? 'workspace' : undefined);
  const home = await resolveNewRowScope(ctx, { scope, workspace_id: body.workspace_id }, { openWhenFrozen: true });

  if (home.organizationId === null) throw invalid('/scope', 'range', 'a key belongs to a workspace or an organization');
  return { organizationId: home.organizationId, workspaceId: home.workspaceId };
}

/** The creator, locked as they stand today: a key that is made beside a deactivation, a demotion or the end of a grant dies by it, or isn't made. */
async function lockCreator(ctx: Ctx, { role, workspaceId }: { role: ServiceKey['role']; workspaceId: string | null }): Promise<string> {
  const maker = await lockMaker(ctx);
  if (maker.userId === null) throw fail('scope_insufficient', { reason: 'user_session_required' });
  const rank = await rankOfMaker(ctx, maker, workspaceId);

  if (rank === null || rankOf(rank) < rankOf('admin')) throw fail('role_insufficient');
  if (rankOf(role) > rankOf(rank))
    throw fail('role_insufficient', { reason: 'rank', detail: "a key can't have a higher role than its creator" });
  return maker.userId;
}
