import type { EntityClass } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { entities } from '../entities.ts';
import type { Predicate } from '../scope.ts';
import { change, row } from '../sql.ts';
import { tenantKeys } from '../tenancy/tenant-keys.ts';

/** A place whose rows go: a whole organization, or one workspace of it. */
export interface PurgedPlace {
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

/** Tables that outlive an organization: its tombstone, the ledger, and the record of the purge itself. */
const outlivesOrganization: ReadonlySet<string> = new Set(['organizations', 'usage_entries', 'purges']);
/** What goes last, in steps of its own. */
const lastOfOrganization: ReadonlySet<string> = new Set(['data_keys']);

/**
 * Tables that outlive a workspace: the organization's log and ledger, what is swept by age, people (`purge-workspace.ts` finds them another
 * home or erases them) and who worked as them.
 */
const outlivesWorkspace: ReadonlySet<string> = new Set([
  'audit_entries',
  'usage_entries',
  'outbox',
  'idempotency_keys',
  'sessions',
  'users',
  'impersonations',
]);

const rowsATransaction = 5_000;

/** Tables with rows of organizations, in the order in which a purge deletes: children first. New entities are in at once. */
export function tablesOfOrganization(em: SqlEntityManager): string[] {
  return childrenFirst(em, 'organizationId').filter((table) => !outlivesOrganization.has(table) && !lastOfOrganization.has(table));
}

/** The same for the rows of one workspace. */
export function tablesOfWorkspace(em: SqlEntityManager): string[] {
  return childrenFirst(em, 'workspaceId').filter((table) => !outlivesWorkspace.has(table));
}

/** Deletes at most 5,000 rows of one table; gives how many. `tables` is the whole order. */
export async function deleteSome(
  em: SqlEntityManager,
  { table, tables, place }: { table: string; tables: readonly string[]; place: PurgedPlace },
): Promise<number> {
  const rows = rowsOf(place);
  await letGo(em, { table, tables, place });
  // A row that points at another of its table is younger than that.
  const order = tenantKeys.some((key) => key.table === table && key.references === table) ? 'order by id desc' : '';

  return change(em, `delete from ${table} where ctid = any (array(select ctid from ${table} where ${rows.sql} ${order} limit ?))`, [
    ...rows.params,
    rowsATransaction,
  ]);
}

/** The first table that still has a row of the place; null when all are empty. */
export async function firstLeft(em: SqlEntityManager, tables: readonly string[], place: PurgedPlace): Promise<string | null> {
  const rows = rowsOf(place);
  const found = await row<{ name: string }>(
    em,
    tables.map((table) => `(select '${table}' as name from ${table} where ${rows.sql} limit 1)`).join(' union all ') + ' limit 1',
    tables.flatMap(() => rows.params),
  );
  return found?.name ?? null;
}

// The organization leads in both: every table has an index on it.
function rowsOf({ organizationId, workspaceId }: PurgedPlace): Predicate {
  if (workspaceId === null) return { sql: 'organization_id = ?::uuid', params: [organizationId] };
  return { sql: '(organization_id = ?::uuid and workspace_id = ?::uuid)', params: [organizationId, workspaceId] };
}

// A parent may point at its child too (the active revision of an agent): that pointer goes first.
async function letGo(
  em: SqlEntityManager,
  { table, tables, place }: { table: string; tables: readonly string[]; place: PurgedPlace },
): Promise<void> {
  const rows = rowsOf(place);
  const later = new Set(tables.slice(tables.indexOf(table) + 1));

  for (const key of tenantKeys.filter((candidate) => candidate.references === table && later.has(candidate.table))) {
    const [pointer] = key.columns;
    if (pointer === undefined) continue;
    await change(em, `update ${key.table} set ${pointer} = null where ${rows.sql} and ${pointer} is not null`, rows.params);
  }
}

function childrenFirst(em: SqlEntityManager, property: 'organizationId' | 'workspaceId'): string[] {
  const classes: readonly EntityClass<object>[] = entities;
  return classes
    .map((entity) => em.getMetadata(entity))
    .filter((meta) => Reflect.has(meta.properties, property))
    .map((meta) => meta.tableName)
    .toReversed();
}
