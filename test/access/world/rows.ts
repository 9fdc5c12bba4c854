import type { EntityMetadata } from '@mikro-orm/core';
import pg from 'pg';
import type { KeyRing } from '../../../db/key-ring.ts';
import type { Databases } from '../../../db/databases.ts';
import { entities } from '../../../db/entities.ts';
import { columnOf, rowOf, type Row } from './fill.ts';
import type { Place } from './places.ts';

/** The deployment that the world is made in. */
export interface WorldBase {
  readonly db: Databases;
  readonly keys: KeyRing;
  /** Superuser, past every policy. */
  readonly adminUrl: string;
}

/** Rows of the world, table by table and place by place; more can be made at any time. */
export interface Rows {
  /** Makes one row; what `given` leaves out is filled from the metadata. Gives the row. */
  make(table: string, place: Place, given?: Row): Promise<Row>;
  /** The first row of a table in a place, or of the nearest place around it. */
  first(table: string, place: Place): Row | null;
  /** All rows of a table in a place, as they were made. */
  all(table: string, place: Place): readonly Row[];
  /** A row that was made here, by its id. */
  find(table: string, id: string): Row | null;
  /** Tells of a row that somebody else has made. */
  note(table: string, place: Place, row: Row): void;
  query<R extends pg.QueryResultRow>(sql: string, params?: readonly unknown[]): Promise<R[]>;
  close(): Promise<void>;
}

/** Tables with rows of tenants, parents first. */
export function tenantTables({ db }: Pick<WorldBase, 'db'>): readonly EntityMetadata[] {
  const order = entities.map((entity) => entity.name);
  return [...db.app.getMetadata().getAll().values()]
    .filter((meta) => meta.tableName === 'organizations' || meta.props.some((property) => columnOf(property) === 'organization_id'))
    .toSorted((left, right) => order.indexOf(left.className) - order.indexOf(right.className));
}

/** Whether a place is one where rows of a table can lie. */
export function fits(meta: EntityMetadata, place: Place): boolean {
  if (meta.tableName === 'organizations') return place.scope === 'organization';
  const find = (name: string) => meta.props.find((property) => columnOf(property) === name);
  const organization = find('organization_id');
  const workspace = find('workspace_id');
  const scope = find('scope');
  if (!place.isActive) return scope !== undefined && find('is_active') !== undefined && organization?.nullable === true;
  if (place.scope === 'platform') return organization?.nullable === true;
  if (place.scope === 'organization') return !workspace || workspace.nullable === true;
  return workspace !== undefined;
}

/** Writes past policies, but under every constraint. */
export async function openRows(base: WorldBase): Promise<Rows> {
  const pool = new pg.Pool({ connectionString: base.adminUrl, max: 4 });
  // Whoever drops the database at the end ends idle connections too.
  pool.on('error', () => undefined);
  const metas = new Map(tenantTables(base).map((meta) => [meta.tableName, meta]));
  const made = new Map<string, Row[]>();
  const at = (table: string, place: Place) => `${table} ${place.organizationId} ${place.workspaceId} ${place.isActive}`;

  const byId = new Map<string, Row>();

  const note = (table: string, place: Place, row: Row) => {
    made.set(at(table, place), [...(made.get(at(table, place)) ?? []), row]);
    byId.set(`${table} ${String(row['id'])}`, row);
  };
  const first = (table: string, place: Place): Row | null => {
    for (const around of surroundings(place)) {
      const [found] = made.get(at(table, around)) ?? [];
      if (found) return found;
    }
    return null;
  };

  return {
    note,
    first,
    find: (table, id) => byId.get(`${table} ${id}`) ?? null,
    all: (table, place) => made.get(at(table, place)) ?? [],
    async make(table, place, given = {}) {
      const meta = metas.get(table);
      if (!meta) throw new Error(`no table ${table} with rows of tenants`);
      const related = (target: string, column: string) => first(target, place)?.[column];
      const isFirst = place.isActive && !made.has(at(table, place));
      const row = rowOf(meta, place, { related, given, isFirst });
      const columns = Object.keys(row);
      const marks = columns.map((_, index) => `$${index + 1}`).join(', ');
      await pool.query(`insert into ${table} (${columns.join(', ')}) values (${marks})`, Object.values(row)).catch((error: Error) => {
        throw new Error(`${table} in ${place.name}: ${error.message}. Give the column a rule in test/access/world/columns.ts.`);
      });
      note(table, place, row);
      return row;
    },
    query: async <R extends pg.QueryResultRow>(sql: string, params: readonly unknown[] = []) =>
      (await pool.query<R>(sql, [...params])).rows,
    close: () => pool.end(),
  };
}

/** A place, then those around it: workspace, organization, platform. */
function surroundings(place: Place): Place[] {
  const outer: Place = { ...place, scope: 'organization', workspaceId: null };
  const platform: Place = { ...place, scope: 'platform', organizationId: null, workspaceId: null };
  return place.workspaceId ? [place, outer, platform] : [place, platform];
}
