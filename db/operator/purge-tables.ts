import type { EntityClass } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { Condition } from '../condition.ts';
import { entities } from '../entities.ts';
import { query } from '../query.ts';
import type { Predicate } from '../scope.ts';
import { change, row } from '../sql.ts';
import { tenantKeys } from '../tenancy/keys/tenant-keys.ts';

/** What is purged: a whole organization, or one workspace of it. */
export interface PurgedScope {
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

/** Tables that outlive an organization: its tombstone, the ledger with its sums, and the record of the purge itself. */
const outlivesOrganization: ReadonlySet<string> = new Set(['organizations', 'usage_entries', 'usage_rollups', 'purges']);
/** Tables that are deleted last, in separate steps. */
const lastOfOrganization: ReadonlySet<string> = new Set(['data_keys']);

/**
 * Tables that outlive a workspace: the organization's log and ledger, what is swept by age, people (`purge-workspace.ts` finds them another home or erases
 * them) and the impersonations of them.
 */
const outlivesWorkspace: ReadonlySet<string> = new Set([
  'audit_entries',
  'usage_entries',
  'usage_rollups',
  'outbox',
  'sessions',
  'users',
  'impersonations',
]);

const rowsATransaction = 5_000;
const parentsATransaction = 500;
/** Before all ids. */
const firstId = '00000000-0000-0000-0000-000000000000';

/** Returns the tables with rows of organizations, in the order in which a purge deletes them: children first. New entities are included automatically. */
export function tablesOfOrganization(em: SqlEntityManager): string[] {
  return childrenFirst(em, 'organizationId').filter((table) => !outlivesOrganization.has(table) && !lastOfOrganization.has(table));
}

/** The same for the rows of one workspace. */
export function tablesOfWorkspace(em: SqlEntityManager): string[] {
  return childrenFirst(em, 'workspaceId').filter((table) => !outlivesWorkspace.has(table));
}

/** How far the rows of one table are deleted. `after`: the position among the parents, `end` after the last; losing it does no harm. */
export interface Deleted {
  readonly deleted: number;
  readonly after: string | null;
  readonly isDone: boolean;
}

/** The table whose rows are deleted; `tables` is the whole order. */
export interface Deleting {
  readonly table: string;
  readonly tables: readonly string[];
  readonly place: PurgedScope;
}

/**
 * Deletes at most 5,000 rows of one table. The large tables have no index on the organization, so their rows are found through their parents' (runs, 500 at a
 * time); rows that no parent leads to are looked for once, at the end.
 */
export async function deleteSome(em: SqlEntityManager, deleting: Deleting, after: string | null): Promise<Deleted> {
  const { table, place } = deleting;
  await letGo(em, deleting);
  const parent = after === 'end' ? null : parentOf(em, table);
  if (parent) return deleteByParents(em, { table, place, parent, after });

  const own = rowsOf(place);
  // A row that refers to another of its table is younger than that one.
  const order = tenantKeys.some((key) => key.table === table && key.references === table) ? 'order by id desc' : '';
  const deleted = await deleteWhere(em, table, { sql: `${own.sql} ${order}`, params: own.params });
  return { deleted, after: 'end', isDone: deleted < rowsATransaction };
}

interface ByParents {
  readonly table: string;
  readonly place: PurgedScope;
  readonly parent: Parent;
  readonly after: string | null;
}

async function deleteByParents(em: SqlEntityManager, { table, place, parent, after }: ByParents): Promise<Deleted> {
  const ids = await idsBehind(em, { table: parent.table, place, after });
  const last = ids.at(-1);
  if (last === undefined) return { deleted: 0, after: 'end', isDone: false };

  const deleted = await deleteWhere(em, table, { sql: `${parent.column} = any (?::uuid[])`, params: [ids] });
  return { deleted, after: deleted < rowsATransaction ? last : after, isDone: false };
}

export async function idsBehind(
  em: SqlEntityManager,
  { table, place, after }: { readonly table: string; readonly place: PurgedScope; readonly after: string | null },
): Promise<string[]> {
  const ids = sql<{ id: string }>`(select id from ${sql.table(table)} where ${rowsOf(place)} and id > ${after ?? firstId}::uuid
    order by id limit ${sql.lit(parentsATransaction)})`;
  const found = await row(em, query.selectFrom(ids.as('p')).select(sql<string[]>`coalesce(json_agg(p.id order by p.id), '[]')`.as('ids')));
  return found?.ids ?? [];
}

function deleteWhere(em: SqlEntityManager, table: string, { sql: own, params }: Predicate): Promise<number> {
  // Text, as in `letGo`: the names of tables and columns are data here.
  return change(em, `delete from ${table} where ctid = any (array(select ctid from ${table} where ${own} limit ?))`, [
    ...params,
    rowsATransaction,
  ]);
}

/** Returns the first table that still has a row of the organization or workspace, or null when all are empty. */
export async function firstLeft(em: SqlEntityManager, tables: readonly string[], place: PurgedScope): Promise<string | null> {
  const own = rowsOf(place);
  const one = (table: string) => sql`(select ${sql.lit(table)} as name from ${sql.table(table)} where ${own} limit 1)`;
  const left = sql<{ name: string }>`(${sql.join(tables.map(one), sql` union all `)} limit 1)`;
  const found = await row(em, query.selectFrom(left.as('l')).select('l.name'));
  return found?.name ?? null;
}

function rowsOf({ organizationId, workspaceId }: PurgedScope): Condition {
  if (workspaceId === null) return new Condition('organization_id = ?::uuid', [organizationId]);
  return new Condition('(organization_id = ?::uuid and workspace_id = ?::uuid)', [organizationId, workspaceId]);
}

// A parent may refer to its child too (the active revision of an agent): that reference is cleared first.
async function letGo(em: SqlEntityManager, { table, tables, place }: Deleting): Promise<void> {
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

interface Parent {
  readonly table: string;
  /** Column of the child that holds the parent's id. */
  readonly column: string;
}

/** Parents of tables without a foreign key, which would be costly for their many rows. */
const parentsWithoutKey: Readonly<Record<string, Parent | undefined>> = { knowledge_terms: { table: 'knowledge_bases', column: 'kb_id' } };

/** Returns the parent by whose ids the rows of a table without an index on the organization are found; null where it has such an index, or no such parent. */
function parentOf(em: SqlEntityManager, table: string): Parent | null {
  const named = parentsWithoutKey[table];
  if (named) return named;
  if (hasIndex(em, table)) return null;
  const keys = tenantKeys.filter((key) => key.table === table && !['workspaces', 'organizations'].includes(key.references));

  for (const { columns, references, referenced } of keys) {
    const [column, target] = [columns[0], referenced[0]];
    if (column === undefined) continue;
    if (target === 'id' && hasIndex(em, references)) return { table: references, column };
    // A child whose key is its parent's own key leads on to that parent's parent.
    const above = parentOf(em, references);
    if (above && above.column === target) return { table: above.table, column };
  }
  return null;
}

function hasIndex(em: SqlEntityManager, table: string): boolean {
  const classes: readonly EntityClass<object>[] = entities;
  const meta = classes.map((entity) => em.getMetadata(entity)).find((candidate) => candidate.tableName === table);
  return meta?.indexes.some(({ expression }) => typeof expression === 'string' && / \(organization_id, id/.test(expression)) ?? false;
}
