import Type, { type Static } from 'typebox';
import { iso } from '../../../db/sql.ts';
import type { UserRow } from '../../../db/tenancy/people/users.ts';
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
    full_name: row.full_name,
    role: row.role,
    scope: row.scope,
    organization_id: row.organization_id,
    workspace_id: row.workspace_id,
    is_active: row.is_active,
    mfa_enabled: row.mfa_enabled,
    last_login_at: iso(row.last_login_at),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
