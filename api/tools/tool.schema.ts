import Type from 'typebox';
import type { ToolRow } from '../../db/tools/tools.ts';
import { creatableToolKinds } from '../../domain/tools/tool-config.ts';
import { iso } from '../../db/sql.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import { toolKinds } from '../../workflows/contracts/runs/runs.ts';
import { closed, FreeObject, idOf, integer, listOf, nullable, oneOf, partOf, Q, stating, text, Timestamp } from '../http/input/schema.ts';
import { SecretName } from './http-config.schema.ts';
import { configlessKinds, configSchemas } from './kind-config.schema.ts';

export const ToolParams = closed({ tool_id: idOf('Tool') });

const effects = ['read', 'write'] as const;
const ToolSlug = text(64, { minLength: 1, pattern: '^[a-z0-9][a-z0-9_-]*$', description: 'The name that the model sees' });
const DisplayName = text(200, { minLength: 1 });
const ToolDescription = text(4_096, { minLength: 1, description: 'Tells the model what the tool does and when to call it' });
const concurrencies = ['read', 'write', 'exclusive'] as const;
const settable = {
  input_schema: Type.Optional(FreeObject),
  config: Type.Optional(FreeObject),
  secrets_required: Type.Optional(
    listOf(SecretName, {
      maxItems: 20,
      uniqueItems: true,
      description: 'Names of secrets that the tool uses; those of its config are added',
    }),
  ),
  effect: Type.Optional(oneOf(effects)),
  concurrency: Type.Optional(oneOf(concurrencies, { description: 'exclusive: one call at a time in a workspace' })),
  critical: Type.Optional(Type.Boolean({ description: 'Whether each call waits for an admin' })),
  client_owned: Type.Optional(Type.Boolean({ description: 'Never executed by the platform: the client answers the call' })),
  response_max_chars: Type.Optional(integer({ minimum: 100, maximum: 200_000 })),
  timeout_s: Type.Optional(
    integer({
      minimum: 1,
      maximum: 86_400,
      description: 'At most 600, or 86,400 for delegate and client-owned tools; defaults to 60, or 3,600',
    }),
  ),
  is_active: Type.Optional(Type.Boolean()),
};

const ToolCreateFields = closed({
  slug: ToolSlug,
  kind: oneOf(creatableToolKinds),
  display_name: Type.Optional(nullable(DisplayName)),
  description: ToolDescription,
  ...settable,
  scope: Type.Optional(nullable(oneOf(scopes))),
  workspace_id: Type.Optional(nullable(idOf('Workspace'))),
});

/** A client-owned tool needs no config; any other tool has one that matches the schema of its kind. */
const withoutConfig = partOf(
  {
    client_owned: { const: true },
    config: { type: 'object', title: 'none', description: 'Empty: the client executes the call', maxProperties: 0 },
  },
  { required: ['client_owned'] },
);

/** Only what others execute may take longer. */
const timeout = {
  anyOf: [
    { properties: { timeout_s: { maximum: 600 } } },
    { properties: { kind: { const: 'delegate' } } },
    { properties: { client_owned: { const: true } }, required: ['client_owned'] },
  ],
};

export const ToolCreate = Type.Unsafe<Type.Static<typeof ToolCreateFields>>({
  ...stating(ToolCreateFields, timeout),
  $id: 'ToolCreate',
  allOf: creatableToolKinds.map((kind) => ({
    if: partOf({ kind: { const: kind } }, { required: ['kind'], not: withoutConfig }),
    // oxlint-disable-next-line unicorn/no-thenable -- the JSON Schema keyword
    then: partOf({ config: configSchemas[kind] }, configlessKinds.includes(kind) ? {} : { required: ['config'] }),
  })),
});

/** All fields but slug, kind and scope; the config must match the schema of the tool's kind. */
export const ToolUpdate = closed(
  { display_name: Type.Optional(nullable(DisplayName)), description: Type.Optional(ToolDescription), ...settable },
  { $id: 'ToolUpdate' },
);

export const ToolDelete = closed({
  force: Type.Optional(
    Type.Boolean({ description: 'Deletes it even while active revisions use it; their next runs go without it', default: false }),
  ),
});

// Accepts any name: one that no secret can have gets the same 404 as others that do not exist.
export const ToolSecretParams = closed({ tool_id: idOf('Tool'), name: text(100, { minLength: 1 }) });

export const ToolSecretsPut = closed(
  {
    values: Type.Unsafe<Record<string, string>>({
      type: 'object',
      minProperties: 1,
      maxProperties: 20,
      propertyNames: { type: 'string', maxLength: 100, pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,99}$' },
      additionalProperties: { type: 'string', minLength: 1, maxLength: 16_384 },
      description: 'Values by the names in secrets_required; never returned',
    }),
  },
  { $id: 'ToolSecretsPut' },
);

export const ToolView = closed(
  {
    id: idOf('Tool'),
    scope: oneOf(scopes),
    organization_id: nullable(idOf('Organization')),
    workspace_id: nullable(idOf('Workspace')),
    slug: ToolSlug,
    kind: oneOf(toolKinds),
    display_name: nullable(DisplayName),
    description: ToolDescription,
    input_schema: FreeObject,
    config: FreeObject,
    secrets_required: listOf(text(100), { maxItems: 20 }),
    concurrency: oneOf(['read', 'write', 'exclusive']),
    effect: oneOf(effects),
    critical: Type.Boolean(),
    client_owned: Type.Boolean(),
    response_max_chars: integer({ minimum: 100, maximum: 200_000 }),
    timeout_s: integer({ minimum: 1, maximum: 86_400 }),
    is_active: Type.Boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'ToolView', description: 'A tool that agents can call; secrets only appear by name' },
);

export const ToolFilters = closed({
  q: Type.Optional(Q),
  kind: Type.Optional(oneOf(toolKinds)),
  effect: Type.Optional(oneOf(effects)),
  critical: Type.Optional(Type.Boolean()),
  toolkit_id: Type.Optional(idOf('Toolkit')),
});

/** The wire form of a tool. */
export function toToolView(row: ToolRow) {
  return {
    id: row.id,
    scope: row.scope,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    slug: row.slug,
    kind: row.kind,
    display_name: row.displayName,
    description: row.description,
    input_schema: row.inputSchema,
    config: row.config,
    secrets_required: row.secretsRequired,
    concurrency: row.concurrency,
    effect: row.effect,
    critical: row.critical,
    client_owned: row.clientOwned,
    response_max_chars: row.responseMaxChars,
    timeout_s: row.timeoutS,
    is_active: row.isActive,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
