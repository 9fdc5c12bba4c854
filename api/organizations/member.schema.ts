import Type, { type Static } from 'typebox';
import { iso } from '../../db/sql.ts';
import { memberSources, type MemberRow } from '../../db/tenancy/people/members.ts';
import { grantRoles } from '../../db/tenancy/workspaces/workspace-grant.entity.ts';
import { closed, Email, idOf, nullable, oneOf, Q, text, Timestamp } from '../http/input/schema.ts';

export const MemberParams = closed({ workspace_id: idOf('Workspace'), user_id: idOf('User') });

export const MemberQuery = closed({
  q: Type.Optional(Q),
  role: Type.Optional(oneOf(grantRoles)),
  source: Type.Optional(oneOf(memberSources)),
  is_active: Type.Optional(Type.Boolean()),
});

export const WorkspaceMemberView = closed(
  {
    workspace_id: idOf('Workspace'),
    user_id: idOf('User'),
    email: Email,
    full_name: nullable(text(200)),
    role: oneOf(grantRoles, {
      description: 'The effective role in this workspace: for a grant, the lower of the granted and the home role',
    }),
    home_role: oneOf(grantRoles),
    source: oneOf(memberSources, { description: 'A home in this workspace, a grant, or access to the whole organization' }),
    is_active: Type.Boolean(),
    granted_by_user_id: nullable(idOf('User')),
    granted_at: nullable(Timestamp),
  },
  { $id: 'WorkspaceMemberView', description: 'A user who can work in a workspace' },
);

export const WorkspaceMemberPut = closed({ role: oneOf(grantRoles) }, { $id: 'WorkspaceMemberPut' });

export function toWorkspaceMemberView(row: MemberRow): Static<typeof WorkspaceMemberView> {
  return {
    workspace_id: row.workspaceId,
    user_id: row.userId,
    email: row.email,
    full_name: row.fullName,
    role: row.role,
    home_role: row.homeRole,
    source: row.source,
    is_active: row.isActive,
    granted_by_user_id: row.grantedByUserId,
    granted_at: iso(row.grantedAt),
  };
}
