import { fetchPage, holdsText } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { isUnbounded } from '../../reach.ts';
import type { Scoped } from '../../scope.ts';
import type { grantRoles } from '../workspaces/workspace-grant.entity.ts';
import { workspacesSeenBy } from '../workspaces/workspaces.ts';

export type MemberRole = (typeof grantRoles)[number];

/** What makes a user a member: home in the workspace, a grant, or membership of the whole organization. */
export const memberSources = ['home', 'grant', 'organization'] as const;
export type MemberSource = (typeof memberSources)[number];

/** A member of a workspace as views show it. */
export interface MemberRow {
  readonly workspace_id: string;
  readonly user_id: string;
  readonly email: string;
  readonly full_name: string | null;
  /** The effective role here. */
  readonly role: MemberRole;
  readonly home_role: MemberRole;
  readonly source: MemberSource;
  readonly is_active: boolean;
  readonly granted_by_user_id: string | null;
  readonly granted_at: Date | string | null;
}

export interface MemberFilters {
  readonly q?: string;
  readonly role?: MemberRole;
  readonly source?: MemberSource;
  readonly is_active?: boolean;
}

const roleNames = `array['viewer', 'member', 'admin', 'owner']`;
const source = `case when u.scope = 'organization' then 'organization' when u.workspace_id = w.id then 'home' else 'grant' end`;
const isGranted = `(${source}) = 'grant'`;
// The lower of grant and home role.
const role = `case when ${isGranted} then (${roleNames})[least(array_position(${roleNames}, g.role), array_position(${roleNames}, u.role))] else u.role end`;
const columns = `w.id as workspace_id, u.id as user_id, u.email, u.full_name, ${role} as role, u.role as home_role, ${source} as source, u.is_active,
  case when ${isGranted} then g.granted_by_user_id end as granted_by_user_id, case when ${isGranted} then g.updated_at end as granted_at`;
const members = `workspaces w join users u on u.organization_id = w.organization_id
  left join workspace_grants g on g.workspace_id = w.id and g.user_id = u.id`;
const isMember = `u.deleted_at is null and (u.scope = 'organization' or u.workspace_id = w.id or g.user_id is not null)`;

/** Returns members of a workspace that the caller sees, newest users first; none for a workspace that is not visible. */
export function listMemberRows(
  ctx: Scoped,
  workspaceId: string,
  { filters, page }: { filters: MemberFilters; page: PageRequest },
): Promise<Page<MemberRow>> {
  const visible = workspacesSeenBy(ctx.caller);
  const where = ['w.id = ?::uuid', visible.sql, isMember];
  const params: unknown[] = [workspaceId, ...visible.params];
  const narrow = (condition: string, value: unknown) => {
    if (value === undefined) return;
    where.push(condition);
    params.push(value);
  };
  // For all other callers the organization is already bound; without this, an operator's statement would begin with the users of all organizations.
  if (isUnbounded(ctx.caller)) narrow('u.organization_id = (select o.organization_id from workspaces o where o.id = ?::uuid)', workspaceId);
  narrow(holdsText('u.email', 'u.full_name'), filters.q);
  narrow(`${role} = ?`, filters.role);
  narrow(`${source} = ?`, filters.source);
  narrow('u.is_active = ?', filters.is_active);

  return fetchPage<MemberRow>(ctx.em, {
    select: columns,
    from: members,
    where: where.join(' and '),
    params,
    order: [{ column: 'u.id', type: 'uuid', descending: true }],
    page,
  });
}
