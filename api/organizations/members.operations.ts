import { mapPage } from '../../db/page.ts';
import { listMemberRows } from '../../db/tenancy/people/members.ts';
import { readWorkspace, type WorkspaceRow } from '../../db/tenancy/workspaces/workspaces.ts';
import { removeMember, setMember } from '../../domain/tenancy/grants.ts';
import { list, put, remove, type AuditNote } from '../http/operation/operation.ts';
import { MemberParams, MemberQuery, toWorkspaceMemberView, WorkspaceMemberPut, WorkspaceMemberView } from './member.schema.ts';
import { WorkspaceParams } from './workspace.schema.ts';

export const memberOperations = {
  listWorkspaceMembers: list(
    '/workspaces/{workspace_id}/members',
    {
      summary: 'List the members of a workspace',
      description: 'Everyone who can work in the workspace, and why, in the order of user_id, newest first. q searches address and name.',
      access: 'viewer',
      paging: 'keyset',
      order: 'user_id',
      params: WorkspaceParams,
      query: MemberQuery,
      view: WorkspaceMemberView,
    },
    async (ctx, { params, query }) => {
      const filters = { ...query, isActive: query.is_active };
      const page = await listMemberRows(ctx, params.workspace_id, { filters, page: ctx.page });
      // Rows prove that the workspace is visible; their absence proves nothing.
      if (page.items.length === 0) await readWorkspace(ctx, params.workspace_id);
      return mapPage(page, toWorkspaceMemberView);
    },
  ),

  setWorkspaceMember: put(
    '/workspaces/{workspace_id}/members/{user_id}',
    {
      summary: 'Grant a role in a workspace',
      description:
        'Lets a user whose home is another workspace of the organization work in this one, with at most their home role. Takes effect on the next request. A role above member requires a user session.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      notDelegable: true,
      params: MemberParams,
      body: WorkspaceMemberPut,
      view: WorkspaceMemberView,
    },
    async (ctx, { params, body }) => {
      const asked = { workspaceId: params.workspace_id, userId: params.user_id, role: body.role };
      const { workspace, user, member } = await setMember(ctx, asked);

      ctx.audit(noteOf(workspace, user.id, user.grantedRole === body.role ? {} : { role: { from: user.grantedRole, to: body.role } }));
      return toWorkspaceMemberView(member);
    },
  ),

  removeWorkspaceMember: remove(
    '/workspaces/{workspace_id}/members/{user_id}',
    {
      summary: 'End a grant in a workspace',
      description: 'Removes the role of a user in a workspace that is not their home. Takes effect on the next request.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      notDelegable: true,
      openWhenSuspended: true,
      params: MemberParams,
    },
    async (ctx, { params }) => {
      const { workspace, user } = await removeMember(ctx, { workspaceId: params.workspace_id, userId: params.user_id });

      ctx.audit(noteOf(workspace, user.id, { role: { from: user.grantedRole, to: null } }));
    },
  ),
};

// Without a label: a user's is looked up when the log is read.
function noteOf(workspace: WorkspaceRow, userId: string, changes: AuditNote['changes']): AuditNote {
  return {
    resourceType: 'workspace_member',
    resourceId: userId,
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    changes,
  };
}
