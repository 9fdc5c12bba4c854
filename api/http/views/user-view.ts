import Type, { type Static } from 'typebox';
import { iso } from '../../../db/sql.ts';
import type { UserRow } from '../../../db/identity/people/users.ts';
import { roles, scopes } from '../../../workflows/contracts/access.ts';
import { closed, Email, idOf, nullable, oneOf, text, Timestamp } from '../input/schema.ts';

/** Shared by the areas that show users. */
export const UserView = closed(
  {
    id: idOf('User'),
    email: Email,
    full_name: nullable(text(200)),
    role: oneOf(roles),
    scope: oneOf(scopes),
    organization_id: nullable(idOf('Organization')),
    workspace_id: nullable(idOf('Workspace')),
    is_active: Type.Boolean(),
    mfa_enabled: Type.Boolean(),
    last_login_at: nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'UserView', description: 'A person who can sign in' },
);

export function toUserView(row: UserRow): Static<typeof UserView> {
  return {
    id: row.id,
    email: row.email,
    full_name: row.fullName,
    role: row.role,
    scope: row.scope,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    is_active: row.isActive,
    mfa_enabled: row.mfaEnabled,
    last_login_at: iso(row.lastLoginAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
