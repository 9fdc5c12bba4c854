import Type from 'typebox';
import { toolConcurrencies, toolEffects } from '../../db/tools/tool.entity.ts';
import { closed, FreeObject, idOf, integer, listOf, nullable, oneOf, text } from '../http/input/schema.ts';
import { RevisionNote, Title, ToolName } from '../http/views/toolkit-revision-view.ts';
import { HttpToolConfig } from './http-config.schema.ts';

export const ToolkitRevisionParams = closed({ toolkit_id: idOf('Toolkit'), revision_id: idOf('ToolkitRevision') });

const OpenApiSource = closed(
  {
    type: oneOf(['openapi']),
    document: Type.Optional(
      text(4 * 1024 * 1024, { minLength: 1, description: 'OpenAPI 3.0 to 3.2 as JSON or YAML text; alternatively, give an attachment' }),
    ),
    attachment_id: Type.Optional(
      Type.Unsafe<string>({ ...idOf('Attachment'), description: 'A document of at most 25 MiB, as text in UTF-8' }),
    ),
    include: Type.Optional(
      listOf(text(128, { minLength: 1 }), {
        uniqueItems: true,
        description: 'Ids or tags of the operations that become tools; defaults to all',
      }),
    ),
    exclude: Type.Optional(
      listOf(text(128, { minLength: 1 }), {
        uniqueItems: true,
        description: 'Ids or tags of operations to exclude, even if include names them',
      }),
    ),
  },
  { $id: 'OpenApiSource' },
);

const ManualTool = closed({
  name: text(128, { minLength: 1, pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$' }),
  title: Type.Optional(nullable(Title)),
  description: text(4_096, { minLength: 1, description: 'Tells the model what the tool does and when to call it' }),
  input_schema: Type.Optional(FreeObject),
  output_schema: Type.Optional(nullable(FreeObject)),
  config: HttpToolConfig,
  effect: Type.Optional(oneOf(toolEffects, { description: 'Defaults to the effect of its method' })),
  concurrency: Type.Optional(oneOf(toolConcurrencies, { description: 'Defaults to its effect' })),
});

const ManualSource = closed({ type: oneOf(['manual']), tools: listOf(ManualTool) }, { $id: 'ManualSource' });

/** The source of tools, discriminated by `type`. */
const RevisionSource = Type.Unsafe<Type.Static<typeof OpenApiSource> | Type.Static<typeof ManualSource>>({
  type: 'object',
  description: 'What the tools are made from',
  discriminator: { propertyName: 'type' },
  oneOf: [OpenApiSource, ManualSource],
});

export const ToolkitRevisionCreate = closed(
  { source: RevisionSource, note: Type.Optional(nullable(RevisionNote)) },
  { $id: 'ToolkitRevisionCreate' },
);
export type ToolkitRevisionCreate = Type.Static<typeof ToolkitRevisionCreate>;
export type ManualTool = Type.Static<typeof ManualTool>;

const ToolOverrides = closed({
  effect: Type.Optional(oneOf(toolEffects)),
  critical: Type.Optional(Type.Boolean()),
  concurrency: Type.Optional(oneOf(toolConcurrencies)),
  idempotent: Type.Optional(Type.Boolean()),
  timeout_s: Type.Optional(integer({ minimum: 1, maximum: 600 })),
  response_max_chars: Type.Optional(integer({ minimum: 100, maximum: 200_000 })),
});

export const ToolkitRevisionActivate = closed(
  {
    approve: Type.Unsafe<'all' | string[]>({
      description: 'All tools of the revision, or the names of those to approve; the others keep their active version',
      oneOf: [oneOf(['all']), listOf(ToolName, { uniqueItems: true })],
    }),
    overrides: Type.Optional(
      Type.Unsafe<Record<string, Type.Static<typeof ToolOverrides>>>({
        type: 'object',
        description: 'How approved tools are treated, by name',
        maxProperties: 200,
        propertyNames: { type: 'string', maxLength: 200 },
        additionalProperties: ToolOverrides,
      }),
    ),
  },
  { $id: 'ToolkitRevisionActivate' },
);
