import { fail } from '../../../workflows/contracts/failure.ts';
import type { Caller } from '../../caller.ts';
import { fetchPage, holdsText } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { isUnbounded, organizationOf } from '../../reach.ts';
import type { Predicate, Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import { organizationColumns, type OrganizationRow } from './organization-row.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

export const columns = organizationColumns('o');

/** Which organizations a caller sees: its own; an operator sees all. The remains of a purged one belong to no caller. */
export function organizationsOf(caller: Caller): Predicate {
  if (isUnbounded(caller)) return { sql: 'o.purged_at is null', params: [] };
  return { sql: '(o.id = ?::uuid and o.purged_at is null)', params: [organizationOf(caller)] };
}

/** Returns one organization that the caller sees. Throws 404. */
export async function readOrganization(ctx: Scoped, id: string): Promise<OrganizationRow> {
  const visible = organizationsOf(ctx.caller);
  const found = await row<OrganizationRow>(ctx.em, `select ${columns} from organizations o where o.id = ? and ${visible.sql}`, [
    id,
    ...visible.params,
  ]);
  if (!found) throw fail('not_found');
  return found;
}

/** Returns the organizations that the caller sees, newest first. */
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

/** Substring of name or slug regardless of case, as a condition. */
export function nameFilter(alias: string, q: string | undefined): Predicate {
  if (q === undefined) return { sql: 'true', params: [] };
  return { sql: holdsText(`${alias}.name`, `${alias}.slug`), params: [q] };
}

/** Returns one organization that the caller sees, locked, or null when there is none. */
export function findOrganizationForChange(ctx: Scoped, id: string): Promise<OrganizationRow | null> {
  const visible = organizationsOf(ctx.caller);
  return row<OrganizationRow>(
    ctx.em,
    // Not `for update`: that would block every row being created in the organization.
    `select ${columns} from organizations o where o.id = ? and ${visible.sql} for no key update`,
    [id, ...visible.params],
  );
}

/** Locks until the end of the transaction: of two concurrent bootstraps the second finds what the first has made. */
export async function lockBootstrap(tx: TenantTransaction): Promise<void> {
  await row(tx.em, "select pg_advisory_xact_lock(hashtext('longhaul:bootstrap'))");
}
