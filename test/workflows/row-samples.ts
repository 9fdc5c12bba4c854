import type { EntityClass } from '@mikro-orm/core';
import type pg from 'pg';
import { entities } from '../../db/entities.ts';
import type { Databases } from '../../db/databases.ts';
import { tenantKeys } from '../../db/tenancy/keys/tenant-keys.ts';

/** A tenant whose every table is to have a row. */
export interface SampledTenant {
  readonly organizationId: string;
  readonly workspaceId: string;
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
  readonly hasDefault: boolean;
}

const named: ReadonlySet<string> = new Set(['organization_id', 'workspace_id']);
/** Columns that may be null by themselves and that a check of their table demands all the same. */
const demanded: ReadonlySet<string> = new Set([
  'schedules.every_seconds',
  'budget_windows.window_end',
  'budget_windows.budget_id',
  'knowledge_grants.principal_id',
]);

/** What a check of their table demands beyond the type. */
const given: Readonly<Record<string, unknown>> = {
  'knowledge_chunks.char_start': 0,
  'knowledge_vectors.embedding': '[1]',
  'knowledge_embedding_cache.embedding': '[1]',
};

/** Whose rows another table relates to each other: they get a second one. */
const pairs: ReadonlySet<string> = new Set(['knowledge_items']);

/** References that a check of their table excludes beside another. */
const excluded: ReadonlySet<string> = new Set(['agent_refs.persona_id']);

/** Tables with rows of organizations, parents first. */
export function tenantTables(db: Databases): string[] {
  const classes: readonly EntityClass<object>[] = entities;
  return classes
    .map((entity) => db.sweeper.em.getMetadata(entity))
    .filter((meta) => Reflect.has(meta.properties, 'organizationId'))
    .map((meta) => meta.tableName);
}

/** How many rows of the organization each table has. */
export async function rowsByTable(admin: pg.Client, tables: readonly string[], organizationId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const { rows } = await admin.query<{ count: number }>(`select count(*)::int as count from ${table} where organization_id = $1`, [
      organizationId,
    ]);
    counts[table] = rows[0]?.count ?? 0;
  }
  return counts;
}

/**
 * Gives every table that has none of the tenant's rows one: references lead to the tenant's own rows, enums take their first value. A new
 * table is in at once; one that no such row fits makes the test fail by its name.
 */
export async function fillTables(admin: pg.Client, tables: readonly string[], tenant: SampledTenant): Promise<void> {
  const counts = await rowsByTable(admin, tables, tenant.organizationId);
  for (const table of tables) {
    if (counts[table] !== 0) continue;
    await insertSample(admin, table, tenant);
    if (pairs.has(table)) await insertSample(admin, table, tenant);
  }
}

async function insertSample(admin: pg.Client, table: string, tenant: SampledTenant): Promise<void> {
  const enums = await enumsOf(admin, table);
  const columns = await columnsOf(admin, table);
  const wanted = columns.filter(
    ({ name, isNullable, hasDefault }) =>
      !excluded.has(`${table}.${name}`) &&
      (named.has(name) ||
        demanded.has(`${table}.${name}`) ||
        (!isNullable && !hasDefault) ||
        (name === 'scope' && enums.has('scope')) ||
        keyOf(table, name)?.columns[0] === name),
  );
  const ownId = crypto.randomUUID();
  const values: unknown[] = [];
  for (const column of wanted) values.push(await valueOf(admin, { table, column, tenant, enums, ownId }));
  const places = wanted.map((_, at) => `$${at + 1}`).join(', ');

  await admin
    .query(`insert into ${table} (${wanted.map(({ name }) => name).join(', ')}) values (${places})`, values)
    .catch((error: unknown) => {
      throw new Error(`no sample row fits ${table}`, { cause: error });
    });
}

/** The key that a column begins, else one that it is part of. */
function keyOf(table: string, column: string) {
  const keys = tenantKeys.filter((key) => key.table === table && key.columns.includes(column));
  return keys.find((key) => key.columns[0] === column) ?? keys[0];
}

interface Wanted {
  readonly table: string;
  readonly column: Column;
  readonly tenant: SampledTenant;
  readonly enums: ReadonlyMap<string, string>;
  readonly ownId: string;
}

async function valueOf(admin: pg.Client, { table, column, tenant, enums, ownId }: Wanted): Promise<unknown> {
  const fixed = given[`${table}.${column.name}`];
  if (fixed !== undefined) return fixed;
  if (column.name === 'id' && column.type === 'uuid') return ownId;
  if (column.name === 'organization_id') return tenant.organizationId;
  if (column.name === 'workspace_id') return tenant.workspaceId;
  const key = keyOf(table, column.name);
  if (key?.references === table) return column.isNullable ? null : ownId;
  if (key) {
    const referenced = key.referenced[key.columns.indexOf(column.name)];
    const { rows } = await admin.query<{ value: unknown }>(
      `select ${referenced} as value from ${key.references} where organization_id = $1 order by ${key.referenced[0]} ${column.name.startsWith('to_') ? 'desc' : ''} limit 1`,
      [tenant.organizationId],
    );
    return rows[0]?.value ?? null;
  }
  const first = enums.get(column.name);
  return first ?? plainValue(column.type);
}

function plainValue(type: string): unknown {
  if (type === 'uuid') return crypto.randomUUID();
  if (type === 'bytea') return Buffer.from(crypto.randomUUID());
  if (type === 'boolean') return false;
  if (type === 'jsonb') return '{}';
  if (type === 'character') return 'USD';
  if (type === 'ARRAY') return '{}';
  if (type.startsWith('timestamp') || type === 'date') return new Date();
  return type === 'text' ? `x-${crypto.randomUUID()}` : 1;
}

async function columnsOf(admin: pg.Client, table: string): Promise<Column[]> {
  const { rows } = await admin.query<Column>(
    `select column_name as name, data_type as type, is_nullable = 'YES' as "isNullable", column_default is not null as "hasDefault"
       from information_schema.columns where table_schema = 'public' and table_name = $1 order by ordinal_position`,
    [table],
  );
  return rows;
}

/** First allowed value of each column that a check constraint lists values for. */
async function enumsOf(admin: pg.Client, table: string): Promise<Map<string, string>> {
  const { rows } = await admin.query<{ definition: string }>(
    "select pg_get_constraintdef(oid) as definition from pg_constraint where conrelid = $1::regclass and contype = 'c'",
    [table],
  );
  const found = new Map<string, string>();
  for (const { definition } of rows) {
    const [, column, value] = /^CHECK \(\(\(?(\w+)\)? = ANY \(ARRAY\['([^']+)'/.exec(definition) ?? [];
    if (column !== undefined && value !== undefined) found.set(column, value);
  }
  return found;
}
