import { sql } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { Caller } from '../../caller.ts';
import { fetchPage } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { isUnbounded, organizationOf, workspacesOf } from '../../reach.ts';
import type { Predicate, Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { OrganizationRow } from '../organizations/organization-row.ts';
import { nameFilter } from '../organizations/organizations.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A workspace as views show it. */
export interface WorkspaceRow {
  readonly id: string;
  readonly organization_id: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly timezone: string;
  readonly currency: string;
  readonly is_active: boolean;
  readonly archived_at: Date | string | null;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
  readonly version: number;
}

/** The fields of a workspace that can be changed. */
export type WorkspaceFields = Pick<WorkspaceRow, 'slug' | 'name' | 'description' | 'timezone' | 'currency'>;

/** A workspace under its row's lock. */
export interface LockedWorkspace extends WorkspaceRow {
  /** The time to restore it has passed; its purge may be under way. */
  readonly is_past_purge: boolean;
  /** Status of its organization. */
  readonly status: OrganizationRow['status'];
}

export interface WorkspaceFilters {
  readonly q?: string;
  readonly organizationId?: string;
}

const names = ['id', 'organization_id', 'slug', 'name', 'description', 'timezone', 'currency', 'is_active', 'archived_at'];
/** Select list of a WorkspaceRow over `workspaces w`. */
export const workspaceColumns = [...names, 'created_at', 'updated_at', 'version'].map((name) => `w.${name}`).join(', ');

/** Which workspaces a caller sees, as a condition over `w`: home and granted ones, all of the organization, or every one for an operator. */
export function workspacesSeenBy(caller: Caller): Predicate {
  if (isUnbounded(caller)) return { sql: 'true', params: [] };
  const visible = workspacesOf(caller);
  const organizationId = organizationOf(caller);

  if (visible === null) return { sql: 'w.organization_id = ?::uuid', params: [organizationId] };
  return { sql: '(w.organization_id = ?::uuid and w.id = any(?::uuid[]))', params: [organizationId, visible] };
}

/** Returns one workspace that the caller sees, archived or not. Throws 404. */
export async function readWorkspace(ctx: Scoped, id: string): Promise<WorkspaceRow> {
  const visible = workspacesSeenBy(ctx.caller);
  const found = await row<WorkspaceRow>(ctx.em, `select ${workspaceColumns} from workspaces w where w.id = ? and ${visible.sql}`, [
    id,
    ...visible.params,
  ]);
  if (!found) throw fail('not_found');
  return found;
}

/** Returns the workspaces that the caller sees, newest first, including archived ones. */
export function listWorkspaceRows(ctx: Scoped, filters: WorkspaceFilters, page: PageRequest): Promise<Page<WorkspaceRow>> {
  const visible = workspacesSeenBy(ctx.caller);
  const named = nameFilter('w', filters.q);
  const isIn = filters.organizationId === undefined ? [] : [filters.organizationId];

  return fetchPage<WorkspaceRow>(ctx.em, {
    select: workspaceColumns,
    from: 'workspaces w',
    where: [visible.sql, named.sql, ...isIn.map(() => 'w.organization_id = ?::uuid')].join(' and '),
    params: [...visible.params, ...named.params, ...isIn],
    order: [{ column: 'w.id', type: 'uuid', descending: true }],
    page,
  });
}

/** Returns one workspace that the caller sees, locked, or null when there is none. */
export function findWorkspaceForChange(ctx: Scoped, id: string): Promise<LockedWorkspace | null> {
  const visible = workspacesSeenBy(ctx.caller);
  return row<LockedWorkspace>(
    ctx.em,
    // Not `for update`: that would block every row being created in the workspace.
    `select ${workspaceColumns}, coalesce(w.purge_after <= clock_timestamp(), false) as is_past_purge, o.status
       from workspaces w join organizations o on o.id = w.organization_id where w.id = ? and ${visible.sql} for no key update of w`,
    [id, ...visible.params],
  );
}

interface HomeKey {
  readonly organizationId: string | null;
  readonly workspaceId?: string | undefined;
}

const homes = prepared(({ organizationId, workspaceId }: ParametersOf<HomeKey>) => {
  const found = query
    .selectFrom('workspaces as w')
    .innerJoin('organizations as o', 'o.id', 'w.organizationId')
    .select(['w.id', 'w.isActive', 'o.status'])
    .where('w.organizationId', '=', sql<string>`${organizationId}::uuid`)
    .limit(2);
  return workspaceId ? found.where('w.id', '=', workspaceId) : found.where('w.isActive', '=', sql.lit(true));
});

/** Returns the named workspace of an organization, or else up to two active ones, with its state and that of its organization. */
export async function findHomes(tx: Pick<TenantTransaction, 'em'>, organizationId: string | null, workspaceId: string | null) {
  return rows(tx.em, homes({ organizationId, workspaceId: workspaceId ?? undefined }));
}
