import Type, { type Static } from 'typebox';
import type { ReferenceDocRow, SkillRow, SkillVersionRow } from '../../db/skills/skills.ts';
import { skillDocuments } from '../../domain/skills/skill-text.ts';
import { skillOrigins } from '../../db/skills/skill.entity.ts';
import { curationStates } from '../../workflows/contracts/knowledge/curation.ts';
import { iso } from '../../db/sql.ts';
import { skillPathLength } from '../../ports/skills/path.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import {
  ActorRef,
  closed,
  exactlyOneOf,
  FreeObject,
  idOf,
  integer,
  listOf,
  nullable,
  oneOf,
  Q,
  stating,
  succession,
  text,
  Timestamp,
} from '../http/input/schema.ts';

export const SkillParams = closed({ skill_id: idOf('Skill') });

const SkillSlug = text(64, { minLength: 1, pattern: '^[a-z0-9][a-z0-9._-]*$', description: 'The name under which agents load it' });
const SkillDescription = text(1_024, { minLength: 1, description: 'Tells the model what the skill is for, before the model loads it' });
const Instructions = text(65_536, { minLength: 1, description: 'Markdown' });
const DocumentName = text(skillPathLength, { minLength: 1, description: 'Relative path' });
const DocumentContent = text(262_144);
const MediaType = text(120, { minLength: 3, pattern: '^[a-z0-9.+-]+/[a-z0-9.+-]+(?:; ?[a-z0-9=."-]+)*$' });
const maxDocuments = skillDocuments;

const ReferenceDoc = closed(
  {
    name: DocumentName,
    media_type: MediaType,
    size_chars: integer({ description: 'Size in bytes, for a file that is not text' }),
    sha256: text(64, { minLength: 64 }),
    content: Type.Optional(DocumentContent),
    attachment_id: Type.Optional(idOf('Attachment', 'The file, if the document is not text or is too long')),
  },
  { $id: 'ReferenceDoc', description: 'A document of a skill; lists omit the content, and a file has none' },
);

const ReferenceDocInput = closed(
  { name: DocumentName, content: DocumentContent, media_type: Type.Optional(nullable(MediaType)) },
  { $id: 'ReferenceDocInput' },
);

export const SkillView = closed(
  {
    id: idOf('Skill'),
    scope: oneOf(scopes),
    organization_id: nullable(idOf('Organization')),
    workspace_id: nullable(idOf('Workspace')),
    owner_agent_id: nullable(idOf('Agent')),
    owner_user_id: nullable(idOf('User')),
    slug: SkillSlug,
    description: SkillDescription,
    instructions: Instructions,
    reference_docs: listOf(ReferenceDoc, { maxItems: maxDocuments }),
    version: integer({ minimum: 1 }),
    curation_state: oneOf(curationStates),
    origin: oneOf(skillOrigins),
    use_count: integer({ description: 'Runs that have loaded it' }),
    last_used_at: nullable(Timestamp),
    is_active: Type.Boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'SkillView', description: 'Curated text that agents load when they need it' },
);

export const SkillVersionView = closed(
  {
    skill_id: idOf('Skill'),
    version: integer({ minimum: 1 }),
    description: SkillDescription,
    instructions: Instructions,
    reference_docs: listOf(ReferenceDoc, { maxItems: maxDocuments }),
    front_matter: nullable(FreeObject),
    content_hash: text(64, { minLength: 64 }),
    origin: oneOf(skillOrigins),
    created_by: ActorRef,
    created_at: Timestamp,
  },
  { $id: 'SkillVersionView', description: 'A skill at one of its versions' },
);

const place = {
  scope: Type.Optional(nullable(oneOf(scopes))),
  workspace_id: Type.Optional(nullable(idOf('Workspace'))),
};

export const SkillCreate = closed(
  {
    slug: SkillSlug,
    description: SkillDescription,
    instructions: Instructions,
    reference_docs: Type.Optional(listOf(ReferenceDocInput, { maxItems: maxDocuments })),
    ...place,
    owner_agent_id: Type.Optional(nullable(idOf('Agent', 'The agent that can load it as soon as it is reviewed'))),
    owner_user_id: Type.Optional(nullable(idOf('User', 'Private to this user and their runs; admins see it too'))),
    is_active: Type.Optional(Type.Boolean({ default: true })),
  },
  { $id: 'SkillCreate' },
);

export const SkillUpdate = closed(
  {
    description: Type.Optional(SkillDescription),
    instructions: Type.Optional(Instructions),
    reference_docs: Type.Optional(listOf(ReferenceDocInput, { maxItems: maxDocuments })),
    is_active: Type.Optional(Type.Boolean()),
  },
  { $id: 'SkillUpdate' },
);

export const SkillImport = stating(
  closed(
    {
      attachment_id: Type.Optional(nullable(idOf('Attachment', 'A zip with a SKILL.md at its top, or a SKILL.md alone'))),
      markdown: Type.Optional(nullable(text(1_048_576, { minLength: 1, description: 'A SKILL.md, instead of an attachment' }))),
      files: Type.Optional(
        listOf(closed({ path: DocumentName, content: DocumentContent }), {
          maxItems: maxDocuments,
          description: 'Documents beside the markdown',
        }),
      ),
      slug: Type.Optional(nullable(SkillSlug)),
      ...place,
      on_conflict: Type.Optional(oneOf(['reject', 'new_version'], { default: 'reject' })),
      skip_unsupported: Type.Optional(Type.Boolean({ default: false, description: 'Omits files of types that cannot be stored' })),
    },
    { $id: 'SkillImport' },
  ),
  exactlyOneOf('attachment_id', 'markdown'),
);

export const SkillCurate = stating(
  closed(
    {
      to: oneOf(curationStates),
      version: integer({ minimum: 1, description: 'The version that was reviewed; 409 if it is not the current one' }),
      superseded_by: Type.Optional(nullable(idOf('Skill', 'The promoted skill that replaces it; only with superseded'))),
      note: Type.Optional(nullable(text(1_000, { description: 'Kept in the audit log' }))),
    },
    { $id: 'SkillCurate' },
  ),
  succession('to', 'superseded_by'),
);

export const SkillFilters = closed({
  q: Type.Optional(Q),
  curation_state: Type.Optional(oneOf(curationStates)),
  origin: Type.Optional(oneOf(skillOrigins)),
  owner_agent_id: Type.Optional(idOf('Agent')),
});

export type SkillImportBody = Static<typeof SkillImport>;

/** The wire form of a skill. */
export function toSkillView(row: SkillRow) {
  return {
    id: row.id,
    scope: row.scope,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    owner_agent_id: row.ownerAgentId,
    owner_user_id: row.ownerUserId,
    slug: row.slug,
    description: row.description,
    instructions: row.instructions,
    reference_docs: row.referenceDocs.map(toReferenceDoc),
    version: row.version,
    curation_state: row.curationState,
    origin: row.origin,
    use_count: row.useCount,
    last_used_at: iso(row.lastUsedAt),
    is_active: row.isActive,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

/** The wire form of one version of a skill. */
export function toSkillVersionView(row: SkillVersionRow) {
  return {
    skill_id: row.skillId,
    version: row.version,
    description: row.description,
    instructions: row.instructions,
    reference_docs: row.referenceDocs.map(toReferenceDoc),
    front_matter: row.frontMatter,
    content_hash: row.contentHash,
    origin: row.origin,
    created_by: row.createdBy,
    created_at: iso(row.createdAt),
  };
}

function toReferenceDoc(doc: ReferenceDocRow) {
  return {
    name: doc.name,
    media_type: doc.media_type,
    size_chars: doc.size_chars,
    sha256: doc.sha256,
    ...(typeof doc.content === 'string' ? { content: doc.content } : {}),
    ...(doc.attachment_id === undefined ? {} : { attachment_id: doc.attachment_id }),
  };
}
