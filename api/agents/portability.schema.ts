import Type, { type Static } from 'typebox';
import { avatarPresets } from '../../db/agents/agent.entity.ts';
import type { AgentRow } from '../../db/agents/agents.ts';
import type { CopiedParts } from '../../db/agents/revisions/copied-revision.ts';
import { maxPersonas } from '../../domain/agents/personas.ts';
import { toPortable } from '../../domain/agents/portable.ts';
import type { AgentSummaryRow } from '../../db/agents/effective/sub-agents.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import { closed, Description, FreeObject, idOf, integer, listOf, Name, nullable, oneOf, Q, Slug, Url } from '../http/input/schema.ts';
import { PersonaDocument, toPersonaExport } from './persona.schema.ts';
import { RevisionDocument } from './revision.schema.ts';

/** The form of the document; a newer one is refused. */
const importVersion = 1;

const importFields = {
  schema_version: Type.Optional(integer({ minimum: 1, maximum: importVersion, default: importVersion })),
  kind: Type.Optional(oneOf(['agent'], { default: 'agent' })),
  slug: Slug,
  name: Name,
  description: Type.Optional(nullable(Description)),
  scope: Type.Optional(nullable(oneOf(scopes))),
  avatar_preset: Type.Optional(nullable(oneOf(avatarPresets))),
  image_url: Type.Optional(nullable(Url)),
  is_active: Type.Optional(Type.Boolean({ default: true })),
  attributes: Type.Optional(FreeObject),
  revision: Type.Optional(RevisionDocument),
  personas: Type.Optional(listOf(PersonaDocument, { maxItems: maxPersonas })),
};

export const AgentImport = closed(importFields, {
  $id: 'AgentImport',
  description: 'An agent with its personas as a document; references name their targets by slug',
});

export const AgentExportView = closed(importFields, {
  $id: 'AgentExportView',
  description: 'An agent in the format that importAgent accepts: no ids and no secrets',
});

export const AgentClone = closed(
  {
    slug: Slug,
    name: Type.Optional(nullable(Name)),
    scope: Type.Optional(nullable(oneOf(scopes, { description: 'Defaults to the scope of the original' }))),
    revision_id: Type.Optional(nullable(idOf('AgentRevision', 'Defaults to the active one, otherwise the newest'))),
    include_personas: Type.Optional(Type.Boolean({ default: true })),
  },
  { $id: 'AgentClone' },
);

export const AgentSummary = closed(
  {
    id: idOf('Agent'),
    slug: Slug,
    name: Name,
    description: nullable(Description),
    scope: oneOf(scopes),
    avatar_preset: nullable(oneOf(avatarPresets)),
    image_url: nullable(Url),
    active_revision_id: idOf('AgentRevision'),
    input_schema: nullable(FreeObject),
  },
  { $id: 'AgentSummary', description: 'An agent that can be called' },
);

export const ExportQuery = closed({
  revision_id: Type.Optional(idOf('AgentRevision', 'Defaults to the active one, otherwise the newest')),
});
export const SubAgentFilters = closed({ q: Type.Optional(Q) });
export const AgentDeletion = closed({
  force: Type.Optional(Type.Boolean({ default: false, description: 'Cancels the runs that have not ended' })),
});

/** The wire form of an agent that may be asked. */
export function toAgentSummary(row: AgentSummaryRow): Static<typeof AgentSummary> {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    description: row.description,
    scope: row.scope,
    avatar_preset: row.avatarPreset,
    image_url: row.imageUrl,
    active_revision_id: row.activeRevisionId,
    input_schema: row.inputSchema,
  };
}

/** An agent, one of its revisions and its personas as one document. */
export function toAgentExport(agent: AgentRow, { document, personas }: CopiedParts) {
  return {
    schema_version: importVersion,
    kind: 'agent' as const,
    slug: agent.slug,
    name: agent.name,
    description: agent.description,
    scope: agent.scope,
    avatar_preset: agent.avatarPreset,
    image_url: agent.imageUrl,
    is_active: agent.isActive,
    attributes: agent.attributes,
    // The stored document is the wire form; its arrays are readonly in code only.
    ...(document ? { revision: toPortable(document) as Static<typeof RevisionDocument> } : {}),
    personas: personas.map(toPersonaExport),
  };
}
