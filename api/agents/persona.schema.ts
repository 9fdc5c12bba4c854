import Type, { type Static } from 'typebox';
import { avatarPresets } from '../../db/agents/agent.entity.ts';
import { instructionsModes, type PersonaDocument as StoredPersona, type PersonaDraft } from '../../db/agents/personas/persona-document.ts';
import type { CopiedPersona } from '../../db/agents/revisions/copied-revision.ts';
import type { PersonaRow } from '../../db/agents/personas/personas.ts';
import { iso } from '../../db/sql.ts';
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
  Slug,
  text,
  Timestamp,
  Url,
} from '../http/input/schema.ts';
import { KnowledgeBinding, ModelName, ModelSettingsOverride } from './revision.schema.ts';

export const PersonaParams = closed({ agent_id: idOf('Agent'), persona_id: idOf('Persona') });

/** All that may be changed later. */
const changeable = {
  name: Name,
  description: Type.Optional(nullable(Description)),
  greeting: Type.Optional(nullable(text(2_000))),
  locale: Type.Optional(nullable(text(35, { minLength: 2, description: 'Language tag, BCP 47' }))),
  instructions: Type.Optional(text(32_768, { description: 'Liquid template; empty unless given' })),
  instructions_mode: Type.Optional(
    oneOf(instructionsModes, { description: 'How its instructions are combined with those of the revision; defaults to append' }),
  ),
  model: Type.Optional(nullable(ModelName)),
  model_settings: Type.Optional(nullable(ModelSettingsOverride)),
  tools_allow: Type.Optional(
    nullable(
      listOf(text(200, { minLength: 1 }), {
        maxItems: 128,
        description: 'Slugs of the tools it can call; null: all tools of the revision',
      }),
    ),
  ),
  knowledge: Type.Optional(listOf(KnowledgeBinding, { maxItems: 16 })),
  avatar_preset: Type.Optional(nullable(oneOf(avatarPresets))),
  image_url: Type.Optional(nullable(Url)),
  attributes: Type.Optional(FreeObject),
  is_default: Type.Optional(
    Type.Boolean({ description: 'Whether runs that name no persona use it; at most one per agent. Defaults to false' }),
  ),
  is_active: Type.Optional(Type.Boolean({ description: 'Defaults to true' })),
};

/** A persona as authors write it and exports hold it. */
export const PersonaDocument = closed(
  { slug: Slug, ...changeable },
  { $id: 'PersonaDocument', description: 'A variant of an agent that restricts and adapts what the revision defines' },
);
export const PersonaCreate = closed({ slug: Slug, ...changeable }, { $id: 'PersonaCreate' });
export const PersonaUpdate = closed({ ...changeable, name: Type.Optional(Name) }, { $id: 'PersonaUpdate' });

export const PersonaView = closed(
  {
    id: idOf('Persona'),
    agent_id: idOf('Agent'),
    slug: Slug,
    name: Name,
    description: nullable(Description),
    greeting: nullable(text(2_000)),
    locale: nullable(text(35)),
    instructions: text(32_768),
    instructions_mode: oneOf(instructionsModes),
    model: nullable(ModelName),
    model_settings: nullable(ModelSettingsOverride),
    tools_allow: nullable(listOf(text(200), { maxItems: 128 })),
    knowledge: listOf(KnowledgeBinding, { maxItems: 16 }),
    avatar_preset: nullable(oneOf(avatarPresets)),
    image_url: nullable(Url),
    attributes: FreeObject,
    is_default: Type.Boolean(),
    is_active: Type.Boolean(),
    version: integer({ minimum: 1 }),
    etag: text(40, { description: 'For If-Match, because there is no operation to read a single persona' }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'PersonaView', description: 'A variant of an agent' },
);

/** The wire form of a persona. */
export function toPersonaView(row: PersonaRow): Static<typeof PersonaView> {
  return {
    ...toSaid(row),
    id: row.id,
    agent_id: row.agentId,
    knowledge: [...row.document.knowledge],
    version: row.version,
    etag: `"${row.rowVersion}"`,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

/** A persona as an import takes it: no id, references by slug and scope. */
export function toPersonaExport(row: CopiedPersona): Static<typeof PersonaDocument> {
  const { knowledge } = row.document;
  return { ...toSaid(row), knowledge: knowledge.map(({ slug, scope, access, mode, top_k }) => ({ slug, scope, access, mode, top_k })) };
}

/** What a persona is, its references aside: the same wherever it is shown. */
function toSaid({ slug, document, isDefault, isActive }: CopiedPersona) {
  return {
    slug,
    name: document.name,
    description: document.description,
    greeting: document.greeting,
    locale: document.locale,
    instructions: document.instructions,
    instructions_mode: document.instructions_mode,
    model: document.model,
    model_settings: settingsOf(document),
    tools_allow: document.tools_allow === null ? null : [...document.tools_allow],
    avatar_preset: document.avatar_preset,
    image_url: document.image_url,
    attributes: document.attributes,
    is_default: isDefault,
    is_active: isActive,
  };
}

/** Converts the validated body to the form that the rules of db/agents take. */
export function toPersonaDraft(body: Static<typeof PersonaDocument>): PersonaDraft {
  const { is_default: _default, is_active: _active, ...draft } = body;
  return draft;
}

/** The stored persona with what an update changes. */
export function toChangedDraft(stored: StoredPersona, body: Static<typeof PersonaUpdate>): PersonaDraft {
  const { is_default: _default, is_active: _active, ...changes } = body;
  return { ...stored, ...changes };
}

// Stored settings are the wire form; their arrays are readonly in code only.
function settingsOf({ model_settings: settings }: StoredPersona): Static<typeof ModelSettingsOverride> | null {
  return settings as Static<typeof ModelSettingsOverride> | null;
}
