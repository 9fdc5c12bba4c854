import { sql } from 'kysely';
import type { Condition } from '../../condition.ts';
import { contains, preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import type { ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { isUnbounded } from '../../caller-scope.ts';
import type { Scoped } from '../../scope.ts';
import type { grantRoles } from '../workspaces/workspace-grant.entity.ts';
import { workspacesSeenBy } from '../workspaces/workspaces.ts';

export type MemberRole = (typeof grantRoles)[number];

/** What makes a user a member: home in the workspace, a grant, or membership of the whole organization. */
export const memberSources = ['home', 'grant', 'organization'] as const;
export type MemberSource = (typeof memberSources)[number];

/** A member of a workspace as views show it; `role` is the effective one here. */
export type MemberRow = Awaited<ReturnType<typeof listMemberRows>>['items'][number];

export interface MemberFilters {
  readonly q?: string;
  readonly role?: MemberRole;
  readonly source?: MemberSource;
  readonly isActive?: boolean;
}

const roleNames = sql`array['viewer', 'member', 'admin', 'owner']`;
const source = sql<MemberSource>`case when u.scope = 'organization' then 'organization' when u.workspace_id = w.id then 'home' else 'grant' end`;
const isGranted = sql<boolean>`(${source}) = 'grant'`;
// The lower of grant and home role.
const role = sql<MemberRole>`case when ${isGranted}
  then (${roleNames})[least(array_position(${roleNames}, g.role), array_position(${roleNames}, u.role))] else u.role end`;

type MemberArguments = MemberFilters & {
  readonly workspaceId: string;
  readonly visible: Condition;
  readonly isOperator: true | undefined;
};

const listed = preparedList(
  (p: ParametersOf<MemberArguments>) => {
    let members = query
      .selectFrom('workspaces as w')
      .innerJoin('users as u', 'u.organizationId', 'w.organizationId')
      .leftJoin('workspace_grants as g', (join) => join.onRef('g.workspaceId', '=', 'w.id').onRef('g.userId', '=', 'u.id'))
      .select(['w.id as workspaceId', 'u.id as userId', 'u.email', 'u.fullName', role.as('role')])
      // A user of an organization is no operator.
      .select((eb) => [eb.ref('u.role').$castTo<MemberRole>().as('homeRole'), source.as('source'), 'u.isActive'])
      .select(({ ref }) => [
        sql<string | null>`case when ${isGranted} then ${ref('g.grantedByUserId')} end`.as('grantedByUserId'),
        sql<string | null>`case when ${isGranted} then ${ref('g.updatedAt')} end`.as('grantedAt'),
      ])
      .where('w.id', '=', p.workspaceId)
      .where(p.visible)
      .where('u.deletedAt', 'is', null)
      .where(({ eb, or, ref }) =>
        or([eb('u.scope', '=', sql.lit('organization')), eb('u.workspaceId', '=', ref('w.id')), eb('g.userId', 'is not', null)]),
      );
    // For all other callers the organization is already bound; without this, an operator's statement would begin with the users of all organizations.
    if (p.isOperator)
      members = members.where('u.organizationId', '=', ({ selectFrom }) =>
        selectFrom('workspaces as o').select('o.organizationId').where('o.id', '=', p.workspaceId),
      );
    const { q } = p;
    if (q) members = members.where(({ ref }) => contains(q, ref('u.email'), ref('u.fullName')));
    if (p.role) members = members.where(role, '=', p.role);
    if (p.source) members = members.where(source, '=', p.source);
    if (p.isActive) members = members.where('u.isActive', '=', p.isActive);
    return members;
  },
  [{ column: 'u.id', type: 'uuid', descending: true }],
);

/** Returns members of a workspace that the caller sees, newest users first; none for a workspace that is not visible. */
export async function listMemberRows(ctx: Scoped, workspaceId: string, { filters, page }: { filters: MemberFilters; page: PageRequest }) {
  const { q, role, source, isActive } = filters;
  const isOperator = isUnbounded(ctx.caller) || undefined;
  return listed(ctx.em, { q, role, source, isActive, workspaceId, visible: workspacesSeenBy(ctx.caller), isOperator }, page);
}
