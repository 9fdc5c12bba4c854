import Type, { type Static } from 'typebox';
import type { PlaybookRevisionRow, PlaybookRow } from '../../db/code-review/playbooks/playbooks.ts';
import { iso } from '../../db/sql.ts';
import type { PlaybookChange } from '../../domain/code-review/playbooks.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { fieldsSet } from '../http/operation/changes.ts';
import { closed, Description, idOf, integer, Name, nullable, oneOf, Q, stating, text, Timestamp } from '../http/input/schema.ts';
import { ReviewTemplatesInput, ReviewTemplatesView, toTemplatesView } from './templates.schema.ts';

export const PlaybookParams = closed({ playbook_id: idOf('Playbook', 'Defines how pull requests are reviewed') });

const PlaybookSlug = text(120, { minLength: 1, pattern: '^[a-z0-9-]+$', description: 'Must be unique in its scope' });
const IsDefault = Type.Boolean({
  description: 'Used by bindings of its scope that name no playbook; the previous default loses this role',
});
const IsActive = Type.Boolean({ description: 'Whether bindings can use it' });
const Note = text(500, { description: 'What changed in this revision' });

export const ReviewPlaybookView = closed(
  {
    id: idOf('Playbook'),
    slug: PlaybookSlug,
    name: Name,
    description: nullable(Description),
    scope: oneOf(scopes),
    is_default: IsDefault,
    is_active: IsActive,
    active_revision_id: nullable(idOf('PlaybookRevision', 'The revision that new reviews use')),
    revision_number: integer({ minimum: 1, description: 'Of the active revision' }),
    templates: ReviewTemplatesView,
    organization_id: nullable(idOf('Organization')),
    workspace_id: nullable(idOf('Workspace')),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  {
    $id: 'ReviewPlaybookView',
    description: 'A playbook defines how pull requests are reviewed; includes the templates of its active revision',
  },
);

export const ReviewPlaybookRevisionView = closed(
  {
    id: idOf('PlaybookRevision'),
    playbook_id: idOf('Playbook'),
    revision_number: integer({ minimum: 1 }),
    templates: ReviewTemplatesView,
    sha256: text(64, { minLength: 64, description: 'SHA-256 of the templates as canonical JSON (RFC 8785), in hexadecimal' }),
    is_active: Type.Boolean({ description: 'Whether new reviews use it' }),
    note: nullable(Note),
    created_by_user_id: nullable(idOf('User')),
    created_at: Timestamp,
  },
  { $id: 'ReviewPlaybookRevisionView', description: 'An immutable version of a playbook' },
);

const place = {
  scope: Type.Optional(nullable(oneOf(scopes))),
  workspace_id: Type.Optional(nullable(idOf('Workspace'))),
};

export const ReviewPlaybookCreate = closed(
  {
    slug: PlaybookSlug,
    name: Name,
    description: Type.Optional(nullable(Description)),
    ...place,
    is_default: Type.Optional({ ...IsDefault, default: false }),
    is_active: Type.Optional({ ...IsActive, default: true }),
    templates: Type.Optional(ReviewTemplatesInput),
  },
  { $id: 'ReviewPlaybookCreate', description: 'A new playbook; its revision 1 is active at once' },
);

export const ReviewPlaybookUpdate = closed(
  {
    name: Type.Optional(Name),
    description: Type.Optional(nullable(Description)),
    is_active: Type.Optional(IsActive),
    is_default: Type.Optional(IsDefault),
    active_revision_id: Type.Optional(idOf('PlaybookRevision', 'A revision of this playbook; can be an earlier one')),
  },
  { $id: 'ReviewPlaybookUpdate', description: 'The fields that are sent are changed, the rest is kept' },
);

export const PlaybookClone = closed(
  {
    slug: text(120, { minLength: 1, pattern: '^[a-z0-9-]+$' }),
    name: Type.Optional(nullable(Name)),
    scope: Type.Optional(nullable(oneOf(scopes))),
  },
  { $id: 'PlaybookClone', description: 'The scope and the name of the copy' },
);

export const ReviewPlaybookRevisionCreate = stating(
  closed(
    {
      templates: ReviewTemplatesInput,
      note: Type.Optional(nullable(Note)),
      activate: Type.Optional(Type.Boolean({ default: false, description: 'Whether new reviews use it' })),
    },
    { $id: 'ReviewPlaybookRevisionCreate', description: 'Omitted templates are taken from the platform default' },
  ),
  { allOf: [{ properties: { templates: { minProperties: 1 } } }] },
);

export const PlaybookFilters = closed({
  scope: Type.Optional(oneOf(scopes)),
  is_active: Type.Optional(Type.Boolean({ description: 'Only active playbooks, or only inactive ones' })),
  q: Type.Optional({ ...Q, description: 'Text in slug or name' }),
});

/** The fields that a body sets. */
export function changedPlaybookFields(body: Static<typeof ReviewPlaybookUpdate>): PlaybookChange {
  return fieldsSet<PlaybookChange>({
    name: body.name,
    description: body.description,
    isActive: body.is_active,
    isDefault: body.is_default,
    activeRevisionId: body.active_revision_id,
  });
}

/** The wire form of a playbook. */
export function toReviewPlaybookView(row: PlaybookRow): Static<typeof ReviewPlaybookView> {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    description: row.description,
    scope: row.scope,
    is_default: row.isDefault,
    is_active: row.isActive,
    active_revision_id: row.activeRevisionId,
    revision_number: row.revisionNumber,
    templates: toTemplatesView(row.templates),
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

/** The wire form of a revision. */
export function toPlaybookRevisionView(row: PlaybookRevisionRow): Static<typeof ReviewPlaybookRevisionView> {
  return {
    id: row.id,
    playbook_id: row.playbookId,
    revision_number: row.revisionNumber,
    templates: toTemplatesView(row.templates),
    sha256: row.sha256,
    is_active: row.isActive,
    note: row.note,
    created_by_user_id: row.createdByUserId,
    created_at: iso(row.createdAt),
  };
}

/** 422 if a revision's body has empty templates, because they would equal the default's. */
export function refuseEmpty(templates: Readonly<Record<string, unknown>>): void {
  if (Object.keys(templates).length === 0) throw invalid('/templates', 'minProperties', 'must contain at least one field');
}
