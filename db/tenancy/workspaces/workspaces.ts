import { type Selectable, sql } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { Caller } from '../../caller.ts';
import { Condition } from '../../condition.ts';
import { contains, preparedList } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { isUnbounded, organizationOf, workspacesOf } from '../../caller-scope.ts';
import type { Scoped } from '../../scope.ts';
import { row, rows } from '../../sql.ts';
import type { Tables } from '../../table-types.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The columns of a workspace that views show, with its version. */
export const workspaceColumns = [
  'id',
  'organizationId',
  'slug',
  'name',
  'description',
  'timezone',
  'currency',
  'isActive',
  'archivedAt',
  'createdAt',
  'updatedAt',
  'version',
] as const;

/** A workspace as views show it. */
export type WorkspaceRow = Pick<Selectable<Tables['workspaces']>, (typeof workspaceColumns)[number]>;

/** The fields of a workspace that can be changed. */
export type WorkspaceFields = Pick<WorkspaceRow, 'slug' | 'name' | 'description' | 'timezone' | 'currency'>;

/** A workspace under its row's lock. */
export type LockedWorkspace = NonNullable<Awaited<ReturnType<typeof findWorkspaceForChange>>>;

export interface WorkspaceFilters {
  readonly q?: string;
  readonly organizationId?: string;
}

/** Which workspaces a caller sees, as a condition over `w`: home and granted ones, all of the organization, or every one for an operator. */
export function workspacesSeenBy(caller: Caller): Condition {
  if (isUnbounded(caller)) return new Condition('true');
  const visible = workspacesOf(caller);
  const organizationId = organizationOf(caller);

  if (visible === null) return new Condition('w.organization_id = ?::uuid', [organizationId]);
  return new Condition('(w.organization_id = ?::uuid and w.id = any(?::uuid[]))', [organizationId, visible]);
}

const workspaceById = prepared(({ id, visible }: ParametersOf<{ readonly id: string; readonly visible: Condition }>) =>
  query.selectFrom('workspaces as w').select(workspaceColumns).where('w.id', '=', id).where(visible),
);

/** Returns one workspace that the caller sees, archived or not. Throws 404. */
export async function readWorkspace(ctx: Scoped, id: string): Promise<WorkspaceRow> {
  const found = await row(ctx.em, workspaceById({ id, visible: workspacesSeenBy(ctx.caller) }));
  if (!found) throw fail('not_found');
  return found;
}

const listed = preparedList(
  ({ visible, q, organizationId }: ParametersOf<WorkspaceFilters & { readonly visible: Condition }>) => {
    let workspaces = query.selectFrom('workspaces as w').select(workspaceColumns).where(visible);
    if (q) workspaces = workspaces.where(({ ref }) => contains(q, ref('w.name'), ref('w.slug')));
    if (organizationId) workspaces = workspaces.where('w.organizationId', '=', organizationId);
    return workspaces;
  },
  [{ column: 'w.id', type: 'uuid', descending: true }],
);

/** Returns the workspaces that the caller sees, newest first, including archived ones. */
export function listWorkspaceRows(ctx: Scoped, { q, organizationId }: WorkspaceFilters, page: PageRequest): Promise<Page<WorkspaceRow>> {
  return listed(ctx.em, { q, organizationId, visible: workspacesSeenBy(ctx.caller) }, page);
}

/** Returns one workspace that the caller sees, locked, or null when there is none; `isPastPurge`: its purge may be under way. */
export async function findWorkspaceForChange(ctx: Scoped, id: string) {
  return row(
    ctx.em,
    query
      .selectFrom('workspaces as w')
      .innerJoin('organizations as o', 'o.id', 'w.organizationId')
      .select(workspaceColumns.map((name) => `w.${name}` as const))
      .select(({ ref }) => [sql<boolean>`coalesce(${ref('w.purgeAfter')} <= clock_timestamp(), false)`.as('isPastPurge'), 'o.status'])
      .where('w.id', '=', id)
      .where(workspacesSeenBy(ctx.caller))
      // Not `for update`: that would block every row being created in the workspace.
      .forNoKeyUpdate('w'),
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
export async function findWorkspacesForRows(tx: Pick<TenantTransaction, 'em'>, organizationId: string | null, workspaceId: string | null) {
  return rows(tx.em, homes({ organizationId, workspaceId: workspaceId ?? undefined }));
}
