import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type pg from 'pg';
import { newId } from '../../db/ids.ts';

/** A row as column → value. */
export type RowValues = Record<string, unknown>;

/** What the checks of a table demand beyond types and enums. */
const special: Record<string, RowValues> = {
  agents: { scope: 'workspace' },
  tools: { scope: 'workspace', timeout_s: 60, response_max_chars: 1000 },
  users: { scope: 'workspace', role: 'member' },
  service_keys: { scope: 'workspace' },
  toolkits: { scope: 'workspace' },
  skills: { scope: 'workspace' },
  schedules: { cron: '0 8 * * *', every_seconds: null, run_at: null },
  sessions: { kind: 'login', client_id: null },
  agent_refs: { persona_id: null, revision_id: newId() },
  signing_keys: { state: 'next' },
  organizations: { status: 'active' },
  purges: { status: 'succeeded' },
  runs: { status: 'queued' },
  alert_rules: { kind: 'spend' },
  alerts: { status: 'firing' },
  knowledge_grants: { principal_id: newId() },
  knowledge_chunks: { char_start: 0 },
  budget_windows: { period: 'cap', cap_key: 'run:sample', window_end: null, closed_at: new Date() },
};

/** A valid row of a table in a tenant: each column that must be set gets some value of its type. */
export function sampleRow(meta: EntityMetadata, tenant: { organizationId: string | null; workspaceId: string | null }): RowValues {
  const values: RowValues = {};
  for (const property of meta.props) {
    const column = property.fieldNames[0] ?? property.name;
    if (column === 'organization_id') values[column] = tenant.organizationId;
    else if (column === 'workspace_id') values[column] = tenant.workspaceId;
    else if (!property.nullable && !property.autoincrement) values[column] = sampleValue(property);
  }
  const { tableName } = meta;
  if (tableName === 'organizations') values['id'] = tenant.organizationId;
  if (tableName === 'workspaces') values['id'] = tenant.workspaceId;
  if (tableName === 'secrets' || tableName === 'knowledge_bases')
    values['scope'] = tenant.organizationId === null ? 'platform' : 'workspace';
  return { ...values, ...special[tableName] };
}

/** Inserts a row; `admin` past foreign keys and policies, any other client under both. */
export async function insertRow(client: pg.Client, table: string, values: RowValues): Promise<void> {
  const columns = Object.keys(values);
  await client.query(
    `insert into ${table} (${columns.join(', ')}) values (${columns.map((_, at) => `$${at + 1}`).join(', ')})`,
    Object.values(values),
  );
}

function sampleValue(property: EntityProperty): unknown {
  const type = property.columnTypes[0] ?? 'text';
  if (property.items?.length) return property.items[0];
  if (type.endsWith('[]')) return [];
  if (type.startsWith('timestamptz')) return new Date();
  if (type.startsWith('numeric') || type.startsWith('char')) return type.startsWith('char') ? 'USD' : '1';
  switch (type) {
    case 'uuid':
      return newId();
    case 'jsonb':
      return '{}';
    case 'date':
      return '2026-01-31';
    case 'bytea':
      return Buffer.from(newId());
    case 'boolean':
      return false;
    case 'int':
    case 'bigint':
    case 'smallint':
    case 'double precision':
      return 1;
    case 'halfvec':
      return '[1]';
    default:
      return newId();
  }
}
