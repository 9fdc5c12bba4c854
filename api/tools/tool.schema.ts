import Type from 'typebox';
import type { ToolRow } from '../../db/tools/tools.ts';
import { builtinNames, creatableToolKinds, httpMethods } from '../../db/tools/tool-config.ts';
import { iso } from '../../db/sql.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import { toolKinds } from '../../workflows/contracts/runs.ts';
import { closed, FreeObject, idOf, integer, listOf, nullable, oneOf, Q, text, Timestamp } from '../http/schema.ts';

export const ToolParams = closed({ tool_id: idOf('Tool') });

const effects = ['read', 'write'] as const;
const ToolSlug = text(64, { minLength: 1, pattern: '^[a-z0-9][a-z0-9_-]*$', description: 'The name that the model sees' });
const DisplayName = text(200, { minLength: 1 });
const ToolDescription = text(4_096, { minLength: 1, description: 'Tells the model what the tool does and when to call it' });
const HeaderName = text(100, { minLength: 1, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" });
const DomainName = text(253, { minLength: 1, pattern: '^[A-Za-z0-9.-]+$', description: 'The domain and everything below it' });

/** Names mapped to Liquid templates; at most 50. */
const Templates = (names: string) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    maxProperties: 50,
    propertyNames: { type: 'string', maxLength: 100, pattern: names },
    additionalProperties: { type: 'string', maxLength: 4_096 },
  });

const HttpToolConfig = closed(
  {
    method: oneOf(httpMethods),
    url: text(2_048, { minLength: 1, description: 'Literal origin; the path is a Liquid template whose values are percent-encoded' }),
    query: Type.Optional(Templates('^[^&=#]+$')),
    headers: Type.Optional(Templates("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")),
    body: Type.Optional(
      closed({
        mode: Type.Optional(oneOf(['none', 'json', 'form', 'raw'], { default: 'none' })),
        template: Type.Optional(
          Type.Unsafe<unknown>({
            description:
              'JSON whose texts are Liquid templates, an object of templates for form, one template for raw; null sends the arguments',
          }),
        ),
      }),
    ),
    auth: Type.Optional(closed({ type: oneOf(['none']) })),
    response: Type.Optional(
      closed({
        pointer: Type.Optional(
          nullable(text(400, { pattern: '^(?:/(?:[^~]|~[01])*)?$', description: 'JSON pointer to the result within a JSON reply' })),
        ),
        success: Type.Optional(
          listOf(integer({ minimum: 100, maximum: 599 }), {
            maxItems: 20,
            description: 'Statuses that count as success; none means any 2xx',
          }),
        ),
      }),
    ),
    idempotency_header: Type.Optional(nullable(HeaderName)),
    redirects: Type.Optional(integer({ minimum: 0, maximum: 3, default: 0 })),
  },
  { $id: 'HttpToolConfig', description: 'One HTTP request; templates read args' },
);

const WebFetchToolConfig = closed(
  {
    allow_domains: Type.Optional(listOf(DomainName, { description: 'Empty allows all' })),
    deny_domains: Type.Optional(listOf(DomainName)),
    max_bytes: Type.Optional(integer({ minimum: 1_024, maximum: 10 * 1024 * 1024, default: 2 * 1024 * 1024 })),
    format: Type.Optional(oneOf(['markdown', 'text', 'raw'], { default: 'markdown' })),
    robots: Type.Optional(Type.Boolean({ default: true })),
    cache_s: Type.Optional(integer({ minimum: 0, maximum: 86_400, default: 300 })),
  },
  { $id: 'WebFetchToolConfig', description: 'Which pages may be read, and how' },
);

const BuiltinToolConfig = closed(
  { name: oneOf(builtinNames), options: Type.Optional(closed({})) },
  { $id: 'BuiltinToolConfig', description: 'A tool that runs inside the platform' },
);

const configSchemas = { http: HttpToolConfig, web_fetch: WebFetchToolConfig, builtin: BuiltinToolConfig };

const ToolCreateFields = closed({
  slug: ToolSlug,
  kind: oneOf(creatableToolKinds),
  display_name: Type.Optional(nullable(DisplayName)),
  description: ToolDescription,
  input_schema: Type.Optional(FreeObject),
  config: Type.Optional(FreeObject),
  effect: Type.Optional(oneOf(effects)),
  concurrency: Type.Optional(oneOf(effects)),
  response_max_chars: Type.Optional(integer({ minimum: 100, maximum: 200_000, default: 20_000 })),
  timeout_s: Type.Optional(integer({ minimum: 1, maximum: 600, default: 60 })),
  is_active: Type.Optional(Type.Boolean({ default: true })),
  scope: Type.Optional(nullable(oneOf(scopes))),
  workspace_id: Type.Optional(nullable(idOf('Workspace'))),
});

/** The config has the form of its kind; http and builtin demand one. */
export const ToolCreate = Type.Unsafe<Type.Static<typeof ToolCreateFields>>({
  ...ToolCreateFields,
  $id: 'ToolCreate',
  allOf: creatableToolKinds.map((kind) => ({
    if: { type: 'object', properties: { kind: { const: kind } }, required: ['kind'] },
    // oxlint-disable-next-line unicorn/no-thenable -- the JSON Schema keyword
    then: { type: 'object', properties: { config: configSchemas[kind] }, ...(kind === 'web_fetch' ? {} : { required: ['config'] }) },
  })),
});

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
  { $id: 'ToolView', description: 'A tool that agents may call; secrets appear by name only' },
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
    organization_id: row.organization_id,
    workspace_id: row.workspace_id,
    slug: row.slug,
    kind: row.kind,
    display_name: row.display_name,
    description: row.description,
    input_schema: row.input_schema,
    config: row.config,
    secrets_required: row.secrets_required,
    concurrency: row.concurrency,
    effect: row.effect,
    critical: row.critical,
    client_owned: row.client_owned,
    response_max_chars: row.response_max_chars,
    timeout_s: row.timeout_s,
    is_active: row.is_active,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
