import { sql } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { Caller } from '../../caller.ts';
import { Condition } from '../../condition.ts';
import { contains, preparedList } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { isUnbounded, organizationOf } from '../../caller-scope.ts';
import type { Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import { organizationColumns, type OrganizationRow } from './organization-row.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Which organizations a caller sees, over `o`: its own; an operator sees all. The remains of a purged one belong to no caller. */
export function organizationsOf(caller: Caller): Condition {
  if (isUnbounded(caller)) return new Condition('o.purged_at is null');
  return new Condition('(o.id = ?::uuid and o.purged_at is null)', [organizationOf(caller)]);
}

const organizationById = prepared(({ id, visible }: ParametersOf<{ readonly id: string; readonly visible: Condition }>) =>
  query.selectFrom('organizations as o').select(organizationColumns).where('o.id', '=', id).where(visible),
);

/** Returns one organization that the caller sees. Throws 404. */
export async function readOrganization(ctx: Scoped, id: string): Promise<OrganizationRow> {
  const found = await row(ctx.em, organizationById({ id, visible: organizationsOf(ctx.caller) }));
  if (!found) throw fail('not_found');
  return found;
}

const listed = preparedList(
  ({ visible, q }: ParametersOf<{ readonly visible: Condition; readonly q: string | undefined }>) => {
    const organizations = query.selectFrom('organizations as o').select(organizationColumns).where(visible);
    return q ? organizations.where(({ ref }) => contains(q, ref('o.name'), ref('o.slug'))) : organizations;
  },
  [{ column: 'o.id', type: 'uuid', descending: true }],
);

/** Returns the organizations that the caller sees, newest first. */
export function listOrganizationRows(ctx: Scoped, { q }: { readonly q?: string }, page: PageRequest): Promise<Page<OrganizationRow>> {
  return listed(ctx.em, { q, visible: organizationsOf(ctx.caller) }, page);
}

/** Returns one organization that the caller sees, locked, or null when there is none. */
export async function findOrganizationForChange(ctx: Scoped, id: string): Promise<OrganizationRow | null> {
  return row(
    ctx.em,
    query
      .selectFrom('organizations as o')
      .select(organizationColumns)
      .where('o.id', '=', id)
      .where(organizationsOf(ctx.caller))
      // Not `for update`: that would block every row being created in the organization.
      .forNoKeyUpdate(),
  );
}

/** Locks until the end of the transaction: of two concurrent bootstraps the second finds what the first has made. */
export async function lockBootstrap(tx: TenantTransaction): Promise<void> {
  await row(tx.em, query.selectNoFrom(sql<unknown>`pg_advisory_xact_lock(hashtext('longhaul:bootstrap'))`.as('locked')));
}
