import Type from 'typebox';
import { toolConcurrencies, toolEffects } from '../../db/tools/tool.entity.ts';
import { toolkitRevisionOrigins, toolkitRevisionStates } from '../../db/toolkits/toolkit-revision.entity.ts';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';
import type { ToolkitRevisionRow } from '../../db/toolkits/toolkits.ts';
import { iso } from '../../db/sql.ts';
import { ActorRef, closed, FreeObject, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/schema.ts';
import { HttpToolConfig } from './http-config.schema.ts';

export const ToolkitRevisionParams = closed({ toolkit_id: idOf('Toolkit'), revision_id: idOf('ToolkitRevision') });

const Title = text(200);
const RevisionNote = text(500);
const ToolName = text(200, { minLength: 1, description: "The source's own name of the tool" });

const OpenApiSource = closed({
  type: oneOf(['openapi']),
  document: Type.Optional(
    text(4 * 1024 * 1024, { minLength: 1, description: 'OpenAPI 3.0 or 3.1 as JSON or YAML text; or an attachment is named' }),
  ),
  attachment_id: Type.Optional(idOf('Attachment')),
  include: Type.Optional(
    listOf(text(128, { minLength: 1 }), { uniqueItems: true, description: 'Ids of the operations that become tools; all when left out' }),
  ),
});

const ManualTool = closed({
  name: text(128, { minLength: 1, pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]*$' }),
  title: Type.Optional(nullable(Title)),
  description: text(4_096, { minLength: 1, description: 'Tells the model what the tool does and when to call it' }),
  input_schema: Type.Optional(FreeObject),
  output_schema: Type.Optional(nullable(FreeObject)),
  config: HttpToolConfig,
  effect: Type.Optional(oneOf(toolEffects, { description: 'By its method when left out' })),
  concurrency: Type.Optional(oneOf(toolConcurrencies, { description: 'Its effect when left out' })),
});

const ManualSource = closed({ type: oneOf(['manual']), tools: listOf(ManualTool) });

/** What tools are made from, told apart by `type`. */
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
      description: 'All tools of the revision or the names of those that are approved; the others stay as they are in force',
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

const ToolkitToolView = closed({
  name: ToolName,
  title: nullable(Title),
  description: text(16_384),
  input_schema: FreeObject,
  output_schema: nullable(FreeObject),
  annotations: FreeObject,
  hash: text(64, { description: 'SHA-256 of what an approval is about' }),
  proposed: closed({ effect: oneOf(toolEffects), concurrency: oneOf(toolConcurrencies), idempotent: Type.Boolean() }),
});

export const ToolkitRevisionView = closed(
  {
    id: idOf('ToolkitRevision'),
    toolkit_id: idOf('Toolkit'),
    number: integer({ minimum: 1 }),
    state: oneOf(toolkitRevisionStates),
    origin: oneOf(toolkitRevisionOrigins),
    diff: listOf(
      closed({
        name: ToolName,
        change: oneOf(['added', 'removed', 'changed', 'unchanged']),
        fields: listOf(text(40), { maxItems: 10, description: 'What differs of a changed tool' }),
      }),
      { maxItems: 400, description: 'Tool by tool against the active revision' },
    ),
    quarantined: listOf(ToolName, { description: 'Tools that the sync took out of service' }),
    tools: Type.Optional(listOf(ToolkitToolView, { description: 'Absent in lists' })),
    server: nullable(FreeObject),
    protocol_version: nullable(text(40)),
    error: nullable(text(500)),
    note: nullable(RevisionNote),
    created_by: ActorRef,
    created_at: Timestamp,
    activated_at: nullable(Timestamp),
  },
  { $id: 'ToolkitRevisionView', description: 'The tools of a toolkit as one sync, document or author gave them' },
);

/** The wire form of a revision. */
export function toToolkitRevisionView(row: ToolkitRevisionRow) {
  return {
    id: row.id,
    toolkit_id: row.toolkit_id,
    number: row.number,
    state: row.state,
    origin: row.origin,
    diff: row.diff.map(({ name, change, fields }) => ({ name, change, fields: [...fields] })),
    quarantined: [...row.quarantined],
    ...(row.tools === undefined ? {} : { tools: row.tools.map(toToolkitToolView) }),
    server: row.server,
    protocol_version: row.protocol_version,
    error: row.error,
    note: row.note,
    created_by: row.created_by,
    created_at: iso(row.created_at),
    activated_at: iso(row.activated_at),
  };
}

// How it is called stays inside: the tools of an active revision show it as their config.
function toToolkitToolView(tool: ToolkitTool) {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    input_schema: tool.input_schema,
    output_schema: tool.output_schema,
    annotations: tool.annotations,
    hash: tool.hash,
    proposed: tool.proposed,
  };
}
