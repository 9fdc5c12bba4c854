import { rankOf } from '../../workflows/contracts/access.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { assertScopeActive } from '../../db/frozen.ts';
import type { Changing } from '../../db/scope.ts';
import type { MemberRole, MemberRow } from '../../db/tenancy/people/members.ts';
import { refuseHigherRank, refuseOutranked, refuseUnattended } from './rank-rules.ts';
import { lockWorkspace } from './workspaces.ts';
import type { WorkspaceRow } from '../../db/tenancy/workspaces/workspaces.ts';
import { lockGrantee, writeGrant, deleteGrant, type Grantee, type Grant } from '../../db/tenancy/workspaces/grants.ts';

/** A workspace and one of its users, before the change. */
interface Membership {
  readonly workspace: WorkspaceRow;
  readonly user: Grantee;
}

/**
 * Grants a role in this workspace to a user whose home is another one. Throws 404, 403 by rank (R1, R2, R4), 423 in a frozen workspace or organization, and 409
 * for a user who is a member without a grant, or a role above the user's home role.
 */
export async function setMember(
  ctx: Changing,
  { workspaceId, userId, role }: { readonly workspaceId: string; readonly userId: string; readonly role: MemberRole },
): Promise<Membership & { readonly member: MemberRow }> {
  const workspace = await lockWorkspace(ctx, workspaceId, { openWhenSuspended: true });
  const user = await lockGrantee(ctx, workspace, userId);
  // The grant lives in this workspace, so the caller's rank here counts, whatever it is at home.
  refuseHigherRank(ctx.caller, role, workspace.id);
  refuseOutranked(ctx.caller, { role: user.homeRole, workspaceId: workspace.id });
  refuseUnattended(ctx.caller, user.homeRole, role);
  assertScopeActive(workspace.status, workspace.isActive);
  refuseUngranted(workspace, user);

  return { workspace, user, member: await putGrant(ctx, { workspace, user, role }, ctx.caller.userId) };
}

/** Ends a user's grant in a workspace. Throws 404, 403 by rank (R2, R4), and 409 for a user who is a member without a grant. */
export async function removeMember(
  ctx: Changing,
  { workspaceId, userId }: { readonly workspaceId: string; readonly userId: string },
): Promise<Membership> {
  const workspace = await lockWorkspace(ctx, workspaceId, { openWhenSuspended: true });
  const user = await lockGrantee(ctx, workspace, userId);
  refuseOutranked(ctx.caller, { role: user.homeRole, workspaceId: workspace.id });
  refuseUnattended(ctx.caller, user.homeRole);
  refuseUngranted(workspace, user);

  await removeGrant(ctx, workspace, user);
  return { workspace, user };
}

/** Throws 409 for a user who is a member without a grant: `organization_scoped`, `home_member`. */
function refuseUngranted(workspace: WorkspaceRow, user: Grantee): void {
  if (user.scope !== 'workspace') throw fail('state_conflict', { reason: 'organization_scoped' });
  if (user.homeWorkspaceId === workspace.id) throw fail('state_conflict', { reason: 'home_member' });
}

/** Writes or changes a grant. Throws 409 `above_home_role`. Returns the member; granting the same role again changes nothing. */
export async function putGrant(tx: TenantTransaction, grant: Grant, grantedBy: string | null): Promise<MemberRow> {
  const { user, role } = grant;
  if (rankOf(role) > rankOf(user.homeRole)) throw fail('state_conflict', { reason: 'above_home_role' });
  if (user.grantedRole === role) return memberOf(grant);

  const written = await writeGrant(tx, grant, grantedBy);
  // Makes open streams check their caller again now.
  tx.outgoing.revoked.push(`user:${user.id}`);
  return memberOf({ ...grant, user: { ...user, ...written } });
}

/** Ends a grant, and permanently the keys that its user has created in the workspace. Throws 404 when there is none. */
export async function removeGrant(tx: TenantTransaction, workspace: WorkspaceRow, user: Grantee): Promise<void> {
  const ended = await deleteGrant(tx, workspace.id, user.id);
  if (!ended || ended.removed === 0) throw fail('not_found');
  tx.outgoing.revoked.push(...ended.keyIds.map((id) => `service_key:${id}`));
  tx.outgoing.revoked.push(`user:${user.id}`);
}

function memberOf({ workspace, user, role }: Grant): MemberRow {
  return {
    workspaceId: workspace.id,
    userId: user.id,
    email: user.email,
    fullName: user.fullName,
    role,
    homeRole: user.homeRole,
    source: 'grant',
    isActive: user.isActive,
    grantedByUserId: user.grantedByUserId,
    grantedAt: user.grantedAt,
  };
}
