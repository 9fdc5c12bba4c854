import { sql } from 'kysely';
import { Condition } from '../condition.ts';
import type { PageRequest } from '../page.ts';
import { preparedList } from '../page-query.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { isUnbounded, organizationOf, workspacesAtFloor, workspacesOf } from '../caller-scope.ts';
import { seen, type Changing } from '../scope.ts';
import { row } from '../sql.ts';
import type { AuditAction } from './audit.ts';

/** An entry as it is read: as it was written, except for a user's label, which is the current one. */
export type AuditEntryRow = Awaited<ReturnType<typeof readAuditRow>>;

export interface AuditFilters {
  /** The credential's holder, or the user as whom they acted. */
  readonly actor_id?: string;
  readonly action?: AuditAction;
  readonly resource_type?: string;
  readonly from?: string;
  readonly to?: string;
}

type Reading = Pick<Changing, 'caller' | 'em' | 'floor'>;

const columns = [
  'e.id',
  'e.createdAt',
  'e.organizationId',
  'e.workspaceId',
  'e.actorKind',
  'e.actorId',
  'e.actorRole',
  'e.actingUserId',
  'e.impersonationId',
  'e.action',
  'e.resourceType',
  'e.resourceId',
  'e.outcome',
  'e.changes',
  'e.operationId',
  'e.correlationId',
  'e.ip',
  'e.userAgent',
  'e.seq',
] as const;

/** The entries that are read, and the people whose names the caller sees: all, those of an organization, or of workspaces of it. */
interface Visible {
  readonly visible: Condition;
  readonly peopleOrganizationId: string | null | undefined;
  readonly peopleWorkspaceIds: readonly string[] | undefined;
}

function selectEntries({ visible, ...people }: ParametersOf<Visible>) {
  return query
    .selectFrom('audit_entries as e')
    .where(visible)
    .select(columns)
    .select(({ eb }) => [eb('e.sealNo', 'is not', null).$castTo<boolean>().as('isSealed'), labelOf(people).as('resourceLabel')]);
}

const entryList = preparedList(
  ({ visible, ...given }: ParametersOf<AuditFilters & Visible>) => {
    const { actor_id: actorId, action, resource_type: resourceType, from, to, ...people } = given;
    let entries = selectEntries({ visible, ...people });
    if (actorId) entries = entries.where(sql<boolean>`(e.actor_id = ${actorId}::uuid or e.acting_user_id = ${actorId}::uuid)`);
    if (action) entries = entries.where('e.action', '=', action);
    if (resourceType) entries = entries.where('e.resourceType', '=', resourceType);
    if (from) entries = entries.where(sql<boolean>`e.created_at >= ${from}::timestamptz`);
    if (to) entries = entries.where(sql<boolean>`e.created_at < ${to}::timestamptz`);
    return entries;
  },
  [
    { column: 'e.createdAt', type: 'timestamptz', descending: true },
    { column: 'e.id', type: 'uuid', descending: true },
  ],
);

/** Returns the entries that the caller may read, newest first. */
export function listAuditRows(ctx: Reading, filters: AuditFilters, page: PageRequest) {
  const visible = visibleEntries(ctx, workspacesAtFloor(ctx.caller, ctx.floor));
  return entryList(ctx.em, { ...filters, visible, ...visiblePeople(ctx) }, page);
}

const oneEntry = prepared(({ entryId, ...visible }: ParametersOf<Visible & { readonly entryId: string }>) =>
  selectEntries(visible).where('e.id', '=', entryId),
);

/** Returns one entry. Throws 404, or 403 where the caller's rank in the entry's workspace is below the floor. */
export async function readAuditRow(ctx: Reading, entryId: string) {
  const visible = visibleEntries(ctx, workspacesOf(ctx.caller));
  return seen(ctx, await row(ctx.em, oneEntry({ entryId, visible, ...visiblePeople(ctx) })));
}

/**
 * By workspace; entries without one (of the organization as a whole) only for callers who see all of it, which the policy does not check. An operator without
 * X-View-* reads every chain.
 */
function visibleEntries({ caller }: Reading, workspaceIds: readonly string[] | null): Condition {
  if (isUnbounded(caller)) return new Condition('true');
  const organizationId = organizationOf(caller);
  if (workspaceIds === null) return new Condition('e.organization_id = ?::uuid', [organizationId]);

  const [only, second] = workspaceIds;
  // A single workspace by equality: then its index also provides the order.
  if (only !== undefined && second === undefined)
    return new Condition('(e.workspace_id = ?::uuid and e.organization_id = ?::uuid)', [only, organizationId]);
  return new Condition('(e.organization_id = ?::uuid and e.workspace_id = any(?::uuid[]))', [organizationId, workspaceIds]);
}

type People = Omit<Visible, 'visible'>;

function visiblePeople({ caller }: Reading): People {
  if (isUnbounded(caller)) return { peopleOrganizationId: undefined, peopleWorkspaceIds: undefined };
  return { peopleOrganizationId: organizationOf(caller), peopleWorkspaceIds: workspacesOf(caller) ?? undefined };
}

/**
 * No entry contains a person's name, since entries outlive people: it is looked up when an entry is read, for users that the caller sees, and is null once they
 * are deleted.
 */
function labelOf({ peopleOrganizationId, peopleWorkspaceIds }: ParametersOf<People>) {
  const inOrganization = peopleOrganizationId ? sql<boolean>`u.organization_id = ${peopleOrganizationId}::uuid` : sql<boolean>`true`;
  const inWorkspaces = peopleWorkspaceIds
    ? sql<boolean>`(u.scope = 'organization' or u.workspace_id = any(${peopleWorkspaceIds}::uuid[])
        or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = any(${peopleWorkspaceIds}::uuid[])))`
    : sql<boolean>`true`;
  return sql<string | null>`case when e.resource_type not in ('user', 'workspace_member') then e.resource_label
    when e.resource_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (
      select coalesce(u.full_name, u.email) from users u
       where u.id = e.resource_id::uuid and u.deleted_at is null and ${inOrganization} and ${inWorkspaces})
    end`;
}
