import Type from 'typebox';
import type { SecretRow } from '../../db/secrets/secrets.ts';
import { iso } from '../../db/sql.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import { closed, idOf, integer, nullable, oneOf, Q, text, Timestamp } from '../http/input/schema.ts';

const SecretName = text(100, { minLength: 1, pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,99}$', description: 'How tools and channels name it' });
const SecretDescription = text(500, { description: 'What it is for; never a part of the value' });

export const SecretParams = closed({ name: SecretName });

export const SecretFilters = closed({
  q: Type.Optional(Q),
  scope: Type.Optional(oneOf(scopes)),
  workspace_id: Type.Optional(idOf('Workspace')),
});

export const SecretScope = closed({
  scope: Type.Optional(oneOf(scopes, { description: "Defaults to the caller's own; workspace if one is named" })),
  workspace_id: Type.Optional(idOf('Workspace')),
});

export const SecretPut = closed(
  {
    value: text(16_384, { minLength: 1, description: 'Never returned' }),
    description: Type.Optional(nullable(SecretDescription)),
    scope: Type.Optional(nullable(oneOf(scopes, { description: "Defaults to the caller's own; workspace if one is named" }))),
    workspace_id: Type.Optional(nullable(idOf('Workspace'))),
  },
  { $id: 'SecretPut' },
);

export const SecretView = closed(
  {
    id: idOf('Secret'),
    name: SecretName,
    scope: oneOf(scopes),
    organization_id: nullable(idOf('Organization')),
    workspace_id: nullable(idOf('Workspace')),
    description: nullable(SecretDescription),
    value_version: integer({ minimum: 1, description: 'How often the value has been set' }),
    updated_by_user_id: nullable(idOf('User')),
    last_used_at: nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'SecretView', description: 'Name and scope of a secret, without its value' },
);

/** The wire form of a secret. The row that it takes does not contain the value. */
export function toSecretView(row: SecretRow) {
  return {
    id: row.id,
    name: row.name,
    scope: row.scope,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    description: row.description,
    value_version: row.valueVersion,
    updated_by_user_id: row.updatedByUserId,
    last_used_at: iso(row.lastUsedAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
