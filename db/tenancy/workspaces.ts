import { assertPlaceActive } from '../frozen.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../caller.ts';
import { fetchPage } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { isUnbounded, organizationOf, refuseRank, workspacesOf } from '../reach.ts';
import { checkIfMatch, type Changing, type Predicate, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { OrganizationRow } from './organization-row.ts';
import { nameFilter } from './organizations.ts';

/** A workspace as views show one. */
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

/** What is changed about a workspace. */
export type WorkspaceFields = Pick<WorkspaceRow, 'slug' | 'name' | 'description' | 'timezone' | 'currency'>;

/** A workspace under its row's lock. */
export interface LockedWorkspace extends WorkspaceRow {
  /** The time to restore it has passed; its purge may be at work. */
  readonly is_past_purge: boolean;
  /** Of its organization. */
  readonly status: OrganizationRow['status'];
}

export interface WorkspaceFilters {
  readonly q?: string;
  readonly organizationId?: string;
}

const names = ['id', 'organization_id', 'slug', 'name', 'description', 'timezone', 'currency', 'is_active', 'archived_at'];
/** Select list of a WorkspaceRow over `workspaces w`. */
export const workspaceColumns = [...names, 'created_at', 'updated_at', 'version'].map((name) => `w.${name}`).join(', ');

/** Which workspaces a caller sees: home and granted ones, all of the organization, or an operator's every one; as a condition over `w`. */
export function workspacesSeenBy(caller: Caller): Predicate {
  if (isUnbounded(caller)) return { sql: 'true', params: [] };
  const visible = workspacesOf(caller);
  const organizationId = organizationOf(caller);

  if (visible === null) return { sql: 'w.organization_id = ?::uuid', params: [organizationId] };
  return { sql: '(w.organization_id = ?::uuid and w.id = any(?::uuid[]))', params: [organizationId, visible] };
}

/** One workspace that the caller sees, archived or not. Throws 404. */
export async function readWorkspace(ctx: Scoped, id: string): Promise<WorkspaceRow> {
  const visible = workspacesSeenBy(ctx.caller);
  const found = await row<WorkspaceRow>(ctx.em, `select ${workspaceColumns} from workspaces w where w.id = ? and ${visible.sql}`, [
    id,
    ...visible.params,
  ]);
  if (!found) throw fail('not_found');
  return found;
}

/** Workspaces that the caller sees, newest first, archived ones among them. */
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

/**
 * Loads and locks a workspace for a change. In this order: 404 when it isn't visible, 403 when the caller's role there is below the floor,
 * 412 by If-Match, 423 when it is archived or its organization frozen (unless `openWhenFrozen`).
 */
export async function lockWorkspace(
  ctx: Changing,
  id: string,
  { openWhenFrozen = false }: { readonly openWhenFrozen?: boolean } = {},
): Promise<LockedWorkspace> {
  const visible = workspacesSeenBy(ctx.caller);
  const found = await row<LockedWorkspace>(
    ctx.em,
    // Not `for update`: that would hold up every row that is being made in the workspace.
    `select ${workspaceColumns}, coalesce(w.purge_after <= clock_timestamp(), false) as is_past_purge, o.status
       from workspaces w join organizations o on o.id = w.organization_id where w.id = ? and ${visible.sql} for no key update of w`,
    [id, ...visible.params],
  );
  if (!found) throw fail('not_found');

  refuseRank(ctx.caller, id, ctx.floor);
  checkIfMatch(ctx, found.version);
  if (!openWhenFrozen) assertPlaceActive(found.status, found.is_active);
  return found;
}

/** Writes the fields of a locked workspace; the version is a condition of the update. 409 when the slug is taken. */
export async function changeWorkspace(tx: TenantTransaction, locked: WorkspaceRow, fields: WorkspaceFields): Promise<WorkspaceRow> {
  return update(tx, locked, {
    sql: 'slug = ?, name = ?, description = ?, timezone = ?, currency = ?',
    params: [fields.slug, fields.name, fields.description, fields.timezone, fields.currency],
  });
}

/** Archives a locked workspace; it can be restored for as long as its organization's settings say. */
export async function setArchived(tx: TenantTransaction, locked: WorkspaceRow): Promise<WorkspaceRow> {
  return update(tx, locked, {
    sql: `is_active = false, archived_at = clock_timestamp(), purge_after = clock_timestamp() + make_interval(days =>
      (select s.workspace_retention_days from organization_settings s where s.organization_id = w.organization_id))`,
    params: [],
  });
}

/** Takes a locked workspace back into use. */
export async function setRestored(tx: TenantTransaction, locked: WorkspaceRow): Promise<WorkspaceRow> {
  return update(tx, locked, { sql: 'is_active = true, archived_at = null, purge_after = null', params: [] });
}

async function update(tx: TenantTransaction, locked: WorkspaceRow, set: Predicate): Promise<WorkspaceRow> {
  const changed = await row<WorkspaceRow>(
    tx.em,
    `update workspaces w set ${set.sql}, version = w.version + 1, updated_at = clock_timestamp()
      where w.id = ? and w.version = ? returning ${workspaceColumns}`,
    [...set.params, locked.id, locked.version],
  );
  if (!changed) throw fail('precondition_failed');
  return changed;
}
