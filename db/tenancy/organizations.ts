import { assertPlaceActive } from '../frozen.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Caller } from '../caller.ts';
import { fetchPage, holdsText } from '../page-query.ts';
import type { Page, PageRequest } from '../page.ts';
import { isUnbounded, organizationOf, workspacesOf } from '../reach.ts';
import { checkIfMatch, type Changing, type Predicate, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { organizationColumns, type OrganizationRow } from './organization-row.ts';

const columns = organizationColumns('o');

/** What its owners change about an organization. */
export interface OrganizationFields {
  readonly name: string;
  readonly slug: string;
  readonly timezone: string;
}

interface LockOptions {
  /** True for what a suspended or deleting organization still admits. */
  readonly openWhenFrozen?: boolean;
  /** A further rule about who may: it comes before If-Match and state. */
  readonly refuse?: () => void;
}

/** Which organizations a caller sees: its own; an operator every one. What is left of a purged one is nobody's. */
export function organizationsOf(caller: Caller): Predicate {
  if (isUnbounded(caller)) return { sql: 'o.purged_at is null', params: [] };
  return { sql: '(o.id = ?::uuid and o.purged_at is null)', params: [organizationOf(caller)] };
}

/** One organization that the caller sees. Throws 404. */
export async function readOrganization(ctx: Scoped, id: string): Promise<OrganizationRow> {
  const visible = organizationsOf(ctx.caller);
  const found = await row<OrganizationRow>(ctx.em, `select ${columns} from organizations o where o.id = ? and ${visible.sql}`, [
    id,
    ...visible.params,
  ]);
  if (!found) throw fail('not_found');
  return found;
}

/** Organizations that the caller sees, newest first. */
export function listOrganizationRows(ctx: Scoped, filters: { readonly q?: string }, page: PageRequest): Promise<Page<OrganizationRow>> {
  const visible = organizationsOf(ctx.caller);
  const named = nameFilter('o', filters.q);

  return fetchPage<OrganizationRow>(ctx.em, {
    select: columns,
    from: 'organizations o',
    where: `${visible.sql} and ${named.sql}`,
    params: [...visible.params, ...named.params],
    order: [{ column: 'o.id', type: 'uuid', descending: true }],
    page,
  });
}

/** Substring of name or slug without regard to case, as a condition. */
export function nameFilter(alias: string, q: string | undefined): Predicate {
  if (q === undefined) return { sql: 'true', params: [] };
  return { sql: holdsText(`${alias}.name`, `${alias}.slug`), params: [q] };
}

/** 403 for a caller of single workspaces: what belongs to the whole organization is changed by callers of all of it. */
export function refuseWorkspaceScoped(caller: Caller): void {
  if (workspacesOf(caller) !== null) throw fail('resource_forbidden', { detail: 'only a caller of the whole organization may do this' });
}

/**
 * Loads and locks an organization for a change by a caller of all of it. In this order: 404 when it isn't visible, 403 for a caller of
 * single workspaces, 412 by If-Match, 423 when it is frozen.
 */
export async function lockOrganization(ctx: Changing, id: string, options: LockOptions = {}): Promise<OrganizationRow> {
  const visible = organizationsOf(ctx.caller);
  const found = await row<OrganizationRow>(
    ctx.em,
    // Not `for update`: that would hold up every row that is being made in the organization.
    `select ${columns} from organizations o where o.id = ? and ${visible.sql} for no key update`,
    [id, ...visible.params],
  );
  if (!found) throw fail('not_found');

  refuseWorkspaceScoped(ctx.caller);
  options.refuse?.();
  checkIfMatch(ctx, found.version);
  if (!options.openWhenFrozen) assertPlaceActive(found.status);
  return found;
}

/** Writes name, slug and time zone of a locked organization. The version is a condition of the update. 409 when the slug is taken. */
export async function changeOrganization(
  tx: TenantTransaction,
  locked: OrganizationRow,
  fields: OrganizationFields,
): Promise<OrganizationRow> {
  const changed = await row<OrganizationRow>(
    tx.em,
    `update organizations o set name = ?, slug = ?, timezone = ?, version = o.version + 1, updated_at = clock_timestamp()
      where o.id = ? and o.version = ? returning ${columns}`,
    [fields.name, fields.slug, fields.timezone, locked.id, locked.version],
  );
  if (!changed) throw fail('precondition_failed');
  return changed;
}
