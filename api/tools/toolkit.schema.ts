import Type from 'typebox';
import { toolkitKinds } from '../../db/toolkits/toolkit.entity.ts';
import type { ToolkitRow } from '../../db/toolkits/toolkits.ts';
import { iso } from '../../db/sql.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import {
  closed,
  Description,
  FreeObject,
  idOf,
  integer,
  listOf,
  Name,
  nullable,
  oneOf,
  partOf,
  text,
  Timestamp,
} from '../http/input/schema.ts';
import { SecretName } from './http-config.schema.ts';
import { toolkitConfigs } from './toolkit-config.schema.ts';

export const ToolkitParams = closed({ toolkit_id: idOf('Toolkit') });

const ToolkitSlug = text(40, { minLength: 1, pattern: '^[a-z0-9][a-z0-9_-]*$', description: 'Its tools are called <slug>__<tool>' });
const Secrets = listOf(SecretName, {
  maxItems: 10,
  uniqueItems: true,
  description: 'What its tools need besides the secrets of auth; takes effect with the next activation',
});

const ToolkitCreateFields = closed({
  slug: ToolkitSlug,
  name: Name,
  description: Type.Optional(nullable(Description)),
  scope: Type.Optional(nullable(oneOf(scopes))),
  workspace_id: Type.Optional(nullable(idOf('Workspace'))),
  kind: oneOf(toolkitKinds),
  config: FreeObject,
  secrets_required: Type.Optional(Secrets),
});

/** The config must match the schema of its kind. */
export const ToolkitCreate = Type.Unsafe<Type.Static<typeof ToolkitCreateFields>>({
  ...ToolkitCreateFields,
  $id: 'ToolkitCreate',
  allOf: toolkitKinds.map((kind) => ({
    if: partOf({ kind: { const: kind } }, { required: ['kind'] }),
    // oxlint-disable-next-line unicorn/no-thenable -- the JSON Schema keyword
    then: partOf({ config: toolkitConfigs[kind] }),
  })),
});

export const ToolkitUpdate = closed(
  {
    name: Type.Optional(Name),
    description: Type.Optional(nullable(Description)),
    config: Type.Optional(FreeObject),
    secrets_required: Type.Optional(Secrets),
    is_active: Type.Optional(Type.Boolean()),
  },
  { $id: 'ToolkitUpdate', description: 'A config replaces the previous one as a whole' },
);

export const ToolkitView = closed(
  {
    id: idOf('Toolkit'),
    scope: oneOf(scopes),
    organization_id: nullable(idOf('Organization')),
    workspace_id: nullable(idOf('Workspace')),
    slug: ToolkitSlug,
    name: Name,
    description: nullable(Description),
    kind: oneOf(toolkitKinds),
    config: FreeObject,
    secrets_required: Secrets,
    active_revision_id: nullable(idOf('ToolkitRevision')),
    latest_revision_number: integer({ description: '0 while there is no revision' }),
    tool_count: integer(),
    quarantined_count: integer({ description: 'How many of its tools wait for an approval before they can be called again' }),
    is_active: Type.Boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'ToolkitView', description: 'A versioned group of tools: from an MCP server, from an OpenAPI document, or created manually' },
);

/** The wire form of a toolkit. */
export function toToolkitView(row: ToolkitRow) {
  return {
    id: row.id,
    scope: row.scope,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    slug: row.slug,
    name: row.name,
    description: row.description,
    kind: row.kind,
    config: row.config,
    secrets_required: row.secretsRequired,
    active_revision_id: row.activeRevisionId,
    latest_revision_number: row.latestRevisionNumber,
    tool_count: row.toolCount,
    quarantined_count: row.quarantinedCount,
    is_active: row.isActive,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
