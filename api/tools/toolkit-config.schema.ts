import Type from 'typebox';
import { mcpTransports } from '../../db/toolkits/toolkit-config.ts';
import type { ToolkitKind } from '../../db/toolkits/toolkit.entity.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { closed, integer, listOf, nullable, oneOf, text } from '../http/input/schema.ts';
import { validatorFor } from '../http/input/validator.ts';
import { HttpAuth, SecretName } from './http-config.schema.ts';

const mcpAuthForms = {
  none: closed({ type: oneOf(['none']) }, { $id: 'McpAuthNone' }),
  bearer: closed({ type: oneOf(['bearer']), secret: SecretName }, { $id: 'McpAuthBearer' }),
  headers: closed(
    {
      type: oneOf(['headers']),
      headers: Type.Unsafe<Record<string, string>>({
        type: 'object',
        description: 'Names of headers mapped to names of secrets',
        minProperties: 1,
        maxProperties: 10,
        propertyNames: { type: 'string', maxLength: 100, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" },
        additionalProperties: { type: 'string', minLength: 1, maxLength: 100, pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,99}$' },
      }),
    },
    { $id: 'McpAuthHeaders' },
  ),
  oauth: closed(
    {
      type: oneOf(['oauth']),
      mode: Type.Optional(oneOf(['shared', 'per_user'], { default: 'shared', description: 'One grant for all users, or one per user' })),
      scopes: Type.Optional(
        listOf(text(200, { minLength: 1, pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' }), { maxItems: 50, default: [] }),
      ),
      client_id: Type.Optional(nullable(text(400, { minLength: 1, description: 'A client registered beforehand; null registers one' }))),
    },
    { $id: 'McpAuthOauth' },
  ),
};

/** One of the forms, discriminated by `type`. */
const McpAuth = Type.Unsafe<Type.Static<(typeof mcpAuthForms)[keyof typeof mcpAuthForms]>>({
  type: 'object',
  description: 'How the platform authenticates to the server',
  discriminator: { propertyName: 'type' },
  oneOf: Object.values(mcpAuthForms),
});

const McpToolkitConfig = closed(
  {
    url: text(2_000, { minLength: 1 }),
    transport: Type.Optional(oneOf(mcpTransports, { default: 'auto' })),
    auth: Type.Optional(McpAuth),
    on_change: Type.Optional(
      oneOf(['block', 'keep'], { default: 'block', description: 'What a sync does with active tools that have changed or disappeared' }),
    ),
    sync_interval_s: Type.Optional(nullable(integer({ minimum: 3_600, maximum: 31_536_000 }))),
  },
  { $id: 'McpToolkitConfig', description: 'Where an MCP server is and how it is reached' },
);

const OpenApiToolkitConfig = closed(
  {
    base_url: text(1_000, {
      minLength: 1,
      description: 'Base address for the paths of the document; the document’s own servers are not used',
    }),
    auth: Type.Optional(HttpAuth),
  },
  { $id: 'OpenApiToolkitConfig', description: 'Where the API of a document is and how it is reached' },
);

const ManualToolkitConfig = closed({}, { $id: 'ManualToolkitConfig', description: 'Empty: each tool has its own config' });

export const toolkitConfigs = {
  mcp: McpToolkitConfig,
  openapi: OpenApiToolkitConfig,
  manual: ManualToolkitConfig,
} as const satisfies Record<ToolkitKind, unknown>;

const validators = {
  mcp: validatorFor(closed({ config: McpToolkitConfig }), 'body'),
  openapi: validatorFor(closed({ config: OpenApiToolkitConfig }), 'body'),
  manual: validatorFor(closed({ config: ManualToolkitConfig }), 'body'),
} as const satisfies Record<ToolkitKind, unknown>;

/** Throws 422 unless a config that came without its kind matches the schema of that kind. */
export function checkToolkitConfig(kind: ToolkitKind, config: Readonly<Record<string, unknown>>): void {
  const errors = validators[kind].check({ config }, true);
  if (errors.length > 0) throw fail('validation_failed', { detail: 'The config does not match its kind.', errors });
}
