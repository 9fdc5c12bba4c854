import type { Static } from 'typebox';
import { ServiceKey } from '../../db/identity/keys/service-key.entity.ts';
import { listServiceKeys } from '../../db/identity/keys/service-keys.ts';
import { mapPage } from '../../db/page.ts';
import { see } from '../../db/scope.ts';
import { createServiceKey, revokeServiceKey, rotateServiceKey } from '../../domain/identity/keys/service-keys.ts';
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

// Only people manage keys: never a key, and never on another user's behalf. They can do so even while the tenant is suspended or archived.
const byPeople = { access: 'admin', resourceType: 'service_key', sessionOnly: true, notDelegable: true, openWhenSuspended: true } as const;

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
      description: "Keys of the caller's workspaces and organization, without plaintexts; revoked ones only on request.",
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
      description: 'Returns the key without its plaintext.',
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
      description: 'Returns a new plaintext; the old one stops working at once, without overlap. 409 for a revoked or expired key.',
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
      description: 'Ends the key and its open streams at once; repeating the request returns the same answer.',
      audit: 'delete',
      params: ServiceKeyParams,
    },
    async (ctx, { params }) => {
      ctx.audit(noteOf(await revokeServiceKey(ctx, params.key_id, ctx.deps.now())));
    },
  ),
};

async function createKey(ctx: Ctx, body: Static<typeof ServiceKeyCreate>) {
  const now = ctx.deps.now();
  const { key, plaintext } = await createServiceKey(ctx, body, { now, peppers: ctx.deps.keys.peppers });

  ctx.audit({
    ...noteOf(key),
    changes: { role: { to: key.role }, scope: { to: key.scope }, scopes: { to: key.scopes }, expires_at: { to: body.expires_at ?? null } },
  });
  return toServiceKeySecretView(key, { plaintext, now });
}

async function rotateKey(ctx: Ctx, id: string) {
  const now = ctx.deps.now();
  const { key, plaintext } = await rotateServiceKey(ctx, id, { now, peppers: ctx.deps.keys.peppers });

  ctx.audit({
    ...noteOf(key),
    changes: { plaintext: { changed: true } },
  });
  return toServiceKeySecretView(key, { plaintext, now });
}

/** Returns the part that all audit notes of a key share. */
function noteOf(key: ServiceKey): AuditNote {
  return {
    resourceType: 'service_key',
    resourceId: key.id,
    label: key.name,
    organizationId: key.organizationId,
    workspaceId: key.workspaceId,
  };
}
