import Type, { type Static } from 'typebox';
import type { ToolkitRevisionRow } from '../../../db/toolkits/toolkits.ts';
import { iso } from '../../../db/sql.ts';
import {
  toolConcurrencies,
  toolEffects,
  toolkitRevisionOrigins,
  toolkitRevisionStates,
} from '../../../workflows/contracts/tools/toolkit-sync.ts';
import { ActorRef, closed, FreeObject, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../input/schema.ts';

export const Title = text(200);
export const RevisionNote = text(500);
export const ToolName = text(200, { minLength: 1, description: "The source's own name of the tool" });

const ToolkitToolView = closed({
  name: ToolName,
  title: nullable(Title),
  description: text(16_384),
  input_schema: FreeObject,
  output_schema: nullable(FreeObject),
  annotations: FreeObject,
  hash: text(64, { description: 'SHA-256 of what is approved' }),
  proposed: closed({ effect: oneOf(toolEffects), concurrency: oneOf(toolConcurrencies), idempotent: Type.Boolean() }),
});

/** Shared by the areas that show revisions of toolkits. */
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
        fields: listOf(text(40), { maxItems: 10, description: 'What has changed in a changed tool' }),
      }),
      { maxItems: 400, description: 'Comparison of each tool with the active revision' },
    ),
    quarantined: listOf(ToolName, { description: 'Tools that the sync took out of service' }),
    tools: Type.Optional(listOf(ToolkitToolView, { description: 'The stored source; absent in lists' })),
    left_out_count: integer({ description: 'Operations or tools of the source that did not become tools' }),
    left_out: listOf(closed({ name: ToolName, reason: text(300, { description: 'The reason, phrased as a predicate of the name' }) }), {
      description: 'The first 200 of them',
    }),
    server: nullable(FreeObject),
    protocol_version: nullable(text(40)),
    error: nullable(text(500)),
    note: nullable(RevisionNote),
    created_by: ActorRef,
    created_at: Timestamp,
    activated_at: nullable(Timestamp),
  },
  { $id: 'ToolkitRevisionView', description: 'The tools of a toolkit from one sync, document or author' },
);

type ToolView = Static<typeof ToolkitToolView>;

/** A revision as it is read, with or without its tools. */
type RevisionRow = Omit<ToolkitRevisionRow, 'tools'> & Partial<Pick<ToolkitRevisionRow, 'tools'>>;

/** The wire form of a revision. */
export function toToolkitRevisionView(row: RevisionRow) {
  return {
    id: row.id,
    toolkit_id: row.toolkitId,
    number: row.number,
    state: row.state,
    origin: row.origin,
    diff: row.diff.map(({ name, change, fields }) => ({ name, change, fields: [...fields] })),
    quarantined: [...row.quarantined],
    ...(row.tools === undefined ? {} : { tools: row.tools.map(toToolkitToolView) }),
    left_out_count: row.leftOutCount,
    left_out: row.leftOut.map(({ name, reason }) => ({ name, reason })),
    server: row.server,
    protocol_version: row.protocolVersion,
    error: row.error,
    note: row.note,
    created_by: row.createdBy,
    created_at: iso(row.createdAt),
    activated_at: iso(row.activatedAt),
  };
}

// How it is called stays inside: the tools of an active revision show it as their config.
function toToolkitToolView(tool: ToolView): ToolView {
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
