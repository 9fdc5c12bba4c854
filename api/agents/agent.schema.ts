import Type from 'typebox';
import { avatarPresets } from '../../db/agents/agent.entity.ts';
import type { AgentRow, ListedAgent } from '../../db/agents/agents.ts';

import { iso } from '../../db/sql.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import { closed, Description, FreeObject, idOf, integer, Name, nullable, oneOf, Q, Slug, Timestamp, Url } from '../http/input/schema.ts';
import { AgentRevisionView, RevisionDocument, toAgentRevisionView } from './revision.schema.ts';

export const AgentParams = closed({ agent_id: idOf('Agent') });
export const AgentRevisionParams = closed({ agent_id: idOf('Agent'), revision_id: idOf('AgentRevision') });

const AvatarPreset = oneOf(avatarPresets);

export const AgentView = closed(
  {
    id: idOf('Agent'),
    scope: oneOf(scopes),
    organization_id: nullable(idOf('Organization')),
    workspace_id: nullable(idOf('Workspace')),
    slug: Slug,
    name: Name,
    description: nullable(Description),
    avatar_preset: nullable(AvatarPreset),
    image_url: nullable(Url),
    is_active: Type.Boolean(),
    attributes: FreeObject,
    active_revision_id: nullable(idOf('AgentRevision')),
    created_by_user_id: nullable(idOf('User')),
    created_at: Timestamp,
    updated_at: Timestamp,
    active_revision: Type.Optional(nullable(AgentRevisionView)),
    revision_count: Type.Optional(nullable(integer())),
  },
  { $id: 'AgentView', description: 'An agent; active_revision and revision_count are only present when a single agent is read' },
);

export const AgentCreate = closed(
  {
    slug: Slug,
    name: Name,
    description: Type.Optional(nullable(Description)),
    scope: Type.Optional(nullable(oneOf(scopes))),
    workspace_id: Type.Optional(nullable(idOf('Workspace'))),
    avatar_preset: Type.Optional(nullable(AvatarPreset)),
    image_url: Type.Optional(nullable(Url)),
    is_active: Type.Optional(Type.Boolean({ default: true })),
    attributes: Type.Optional(FreeObject),
    revision: Type.Optional(RevisionDocument),
    activate: Type.Optional(
      Type.Boolean({ default: false, description: 'Activates the revision in this request; requires the role admin' }),
    ),
  },
  { $id: 'AgentCreate' },
);

export const AgentUpdate = closed(
  {
    slug: Type.Optional(Slug),
    name: Type.Optional(Name),
    description: Type.Optional(nullable(Description)),
    avatar_preset: Type.Optional(nullable(AvatarPreset)),
    image_url: Type.Optional(nullable(Url)),
    is_active: Type.Optional(Type.Boolean()),
    attributes: Type.Optional(FreeObject),
  },
  { $id: 'AgentUpdate' },
);

export const AgentFilters = closed({
  q: Type.Optional(Q),
  scope: Type.Optional(oneOf(scopes)),
  is_active: Type.Optional(Type.Boolean()),
});

/** The wire form of an agent as lists show it. */
export function toAgentView(row: ListedAgent) {
  return {
    id: row.id,
    scope: row.scope,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    slug: row.slug,
    name: row.name,
    description: row.description,
    avatar_preset: row.avatarPreset,
    image_url: row.imageUrl,
    is_active: row.isActive,
    attributes: row.attributes,
    active_revision_id: row.activeRevisionId,
    created_by_user_id: row.createdByUserId,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

/** The wire form of one agent, with its active revision and the count of its revisions. */
export function toAgentDetailView(row: AgentRow) {
  return {
    ...toAgentView(row),
    active_revision: row.activeRevision ? toAgentRevisionView(row.activeRevision) : null,
    revision_count: row.revisionCount,
  };
}
