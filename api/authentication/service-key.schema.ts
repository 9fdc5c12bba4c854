import Type, { type Static } from 'typebox';
import { serviceKeyRoles, serviceKeyScopes } from '../../db/identity/keys/service-key.entity.ts';
import type { ShownServiceKey } from '../../db/identity/keys/service-keys.ts';
import { iso } from '../../db/sql.ts';
import { closed, idOf, listOf, nullable, oneOf, Q, text, Timestamp } from '../http/input/schema.ts';

const scopeAreas = [
  'runs',
  'agents',
  'skills',
  'tools',
  'knowledge',
  'triggers',
  'channels',
  'organizations',
  'billing',
  'alerts',
  'attachments',
  'reviews',
  'evaluations',
  'feedback',
  'mcp',
] as const;

/** The scopes that a key may have: read and write of each area, all reading, everything. */
const keyScopes = [...scopeAreas.flatMap((area) => [`${area}:read`, `${area}:write`]), '*:read', '*'];

export const ServiceKeyParams = closed({ key_id: idOf('ServiceKey') });

export const ServiceKeyQuery = closed({
  q: Type.Optional(Q),
  role: Type.Optional(oneOf(serviceKeyRoles)),
  workspace_id: Type.Optional(idOf('Workspace')),
  include_revoked: Type.Optional(Type.Boolean({ default: false })),
});

export const ServiceKeyCreate = closed(
  {
    name: text(120, { minLength: 1 }),
    role: Type.Optional(oneOf(serviceKeyRoles, { default: 'member' })),
    scope: Type.Optional(nullable(oneOf(serviceKeyScopes, { description: "Defaults to the caller's own" }))),
    workspace_id: Type.Optional(nullable(idOf('Workspace'))),
    scopes: Type.Optional(listOf(oneOf(keyScopes), { minItems: 1, maxItems: 40, uniqueItems: true, default: ['*'] })),
    expires_at: Type.Optional(nullable(Timestamp)),
  },
  { $id: 'ServiceKeyCreate' },
);

const shown = {
  id: idOf('ServiceKey'),
  organization_id: idOf('Organization'),
  workspace_id: nullable(idOf('Workspace')),
  scope: oneOf(serviceKeyScopes),
  name: text(120),
  role: oneOf(serviceKeyRoles),
  scopes: listOf(text(60), { maxItems: 40 }),
  prefix: text(12, { description: 'First characters of the key' }),
  last4: text(4, { description: 'Last characters of the key' }),
  created_by_user_id: idOf('User'),
  created_at: Timestamp,
  updated_at: Timestamp,
  expires_at: nullable(Timestamp),
  last_used_at: nullable(Timestamp),
  rotated_at: nullable(Timestamp),
  revoked_at: nullable(Timestamp),
  is_active: Type.Boolean({ description: 'Neither revoked nor expired' }),
} as const;

export const ServiceKeyView = closed(shown, { $id: 'ServiceKeyView', description: 'A credential for a back end, without its plaintext' });

export const ServiceKeySecretView = closed(
  { ...shown, plaintext: text(60, { description: 'Shown only once' }) },
  { $id: 'ServiceKeySecretView', description: 'A new or rotated key with its plaintext' },
);

export function toServiceKeyView(key: ShownServiceKey, now: Date): Static<typeof ServiceKeyView> {
  return {
    id: key.id,
    organization_id: key.organizationId,
    workspace_id: key.workspaceId,
    scope: key.scope,
    name: key.name,
    role: key.role,
    scopes: [...key.scopes],
    prefix: key.prefix,
    last4: key.last4,
    created_by_user_id: key.createdByUserId,
    created_at: iso(key.createdAt),
    updated_at: iso(key.updatedAt),
    expires_at: iso(key.expiresAt),
    last_used_at: iso(key.lastUsedAt),
    rotated_at: iso(key.rotatedAt),
    revoked_at: iso(key.revokedAt),
    is_active: key.revokedAt === null && (key.expiresAt === null || new Date(key.expiresAt) > now),
  };
}

export function toServiceKeySecretView(
  key: ShownServiceKey,
  { plaintext, now }: { plaintext: string; now: Date },
): Static<typeof ServiceKeySecretView> {
  return { ...toServiceKeyView(key, now), plaintext };
}
