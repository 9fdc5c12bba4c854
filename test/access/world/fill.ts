import { randomBytes } from 'node:crypto';
import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { newId } from '../../../db/ids.ts';
import { tenantKeys } from '../../../db/tenancy/keys/tenant-keys.ts';
import { columnRules } from './columns.ts';
import { canary, type Place } from './places.ts';

/** A row as column → value. */
export type Row = Readonly<Record<string, unknown>>;

/** Gives a column of a row that lies where the new row will lie, if there is one. */
export type Related = (table: string, column: string) => unknown;

/**
 * A row of a table in a place, each column filled from the entity's metadata: tenant columns by the place, references by what lies
 * there, texts by a canary. What no rule needs stays at its default, and what may be absent and is no text stays null.
 */
export function rowOf(
  meta: EntityMetadata,
  place: Place,
  { related, given, isFirst }: { related: Related; given: Row; isFirst: boolean },
): Row {
  const id = String(given['id'] ?? newId());
  const values: Record<string, unknown> = {};
  for (const property of meta.props) {
    const column = columnOf(property);
    const value = Object.hasOwn(given, column) ? given[column] : valueOf({ meta, property, column, place, id, isFirst, related });
    if (value !== undefined) values[column] = value;
  }
  return values;
}

interface Cell {
  readonly meta: EntityMetadata;
  readonly property: EntityProperty;
  readonly column: string;
  readonly place: Place;
  readonly id: string;
  readonly isFirst: boolean;
  readonly related: Related;
}

/** Undefined leaves the column to the database. */
function valueOf({ meta, property, column, place, id, isFirst, related }: Cell): unknown {
  const rule = columnRules[meta.tableName]?.[column];
  const type = typeOf(property);
  if (rule) return asSql(rule(place, { id, isFirst }), type);
  if (column === 'id') return id;
  if (column === 'organization_id') return place.organizationId;
  if (column === 'workspace_id') return place.workspaceId;
  if (column === 'scope') return place.scope;
  if (column === 'is_active') return place.isActive;

  const target = referenced(meta.tableName, column);
  if (target !== null) return related(target.table, target.column) ?? (property.nullable ? null : newId());
  if (type === 'text' && !property.items && property.default === undefined) return canary(place, meta.tableName, column);
  return property.nullable ? null : defaultOf(property, column);
}

function defaultOf(property: EntityProperty, column: string): unknown {
  if (property.default !== undefined || property.defaultRaw !== undefined || property.version) return undefined;
  const type = typeOf(property);
  if (property.items) return property.items[0];
  if (type.endsWith('[]')) return '{}';
  if (type === 'date') return '2026-01-31';
  if (type.startsWith('timestamptz')) return new Date(Date.now() + (column.includes('expires') ? 86_400_000 : 0));
  if (type === 'bytea') return randomBytes(32);
  if (type === 'jsonb') return '{}';
  if (type === 'uuid') return newId();
  if (type === 'boolean') return false;
  return type.startsWith('char') ? 'USD' : 1;
}

/** What a column refers to: by the keys of the schema, or by the name of a column that has none. */
function referenced(table: string, column: string): { table: string; column: string } | null {
  const key = tenantKeys.find((candidate) => candidate.table === table && candidate.columns[0] === column && column !== 'organization_id');
  if (key) return { table: key.references, column: key.referenced[0] ?? 'id' };
  const named = /(^|_)user_id$|^principal_id$|^actor_id$|^created_by_id$/.test(column) ? 'users' : byName[column];
  return named ? { table: named, column: 'id' } : null;
}

const byName: Readonly<Record<string, string | undefined>> = {
  run_id: 'runs',
  session_id: 'sessions',
  call_id: 'tool_calls',
  tool_call_id: 'tool_calls',
  message_id: 'messages',
  agent_id: 'agents',
  agent_revision_id: 'agent_revisions',
  kb_id: 'knowledge_bases',
};

function asSql(value: unknown, type: string): unknown {
  return type === 'jsonb' && value !== null ? JSON.stringify(value) : value;
}

export function columnOf(property: EntityProperty): string {
  return property.fieldNames[0] ?? property.name;
}

export function typeOf(property: EntityProperty): string {
  return property.columnTypes[0] ?? 'text';
}
