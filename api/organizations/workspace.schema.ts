import Type, { type Static } from 'typebox';
import { iso } from '../../db/sql.ts';
import type { WorkspaceRow } from '../../db/tenancy/workspaces/workspaces.ts';
import { closed, Description, idOf, Name, nullable, Slug, Timestamp } from '../http/input/schema.ts';
import { Currency, Timezone } from '../http/views/zones.ts';

export const WorkspaceParams = closed({ workspace_id: idOf('Workspace') });

export const WorkspaceView = closed(
  {
    id: idOf('Workspace'),
    organization_id: idOf('Organization'),
    slug: Slug,
    name: Name,
    description: nullable(Description),
    timezone: Timezone,
    currency: Currency,
    is_active: Type.Boolean({ description: 'False while it is archived' }),
    archived_at: nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'WorkspaceView', description: 'A part of an organization with its own agents, runs and members' },
);

export const WorkspaceCreate = closed(
  {
    name: Name,
    slug: Type.Optional(Slug),
    description: Type.Optional(nullable(Description)),
    timezone: Type.Optional(Timezone),
    currency: Type.Optional(Currency),
  },
  {
    $id: 'WorkspaceCreate',
    description: "If omitted, the slug is derived from the name, the time zone is the organization's, and the currency is USD",
  },
);

export const WorkspaceUpdate = closed(
  {
    name: Type.Optional(Name),
    slug: Type.Optional(Slug),
    description: Type.Optional(nullable(Description)),
    timezone: Type.Optional(Timezone),
    currency: Type.Optional(Currency),
  },
  { $id: 'WorkspaceUpdate' },
);

export function toWorkspaceView(row: WorkspaceRow): Static<typeof WorkspaceView> {
  return {
    id: row.id,
    organization_id: row.organizationId,
    slug: row.slug,
    name: row.name,
    description: row.description,
    timezone: row.timezone,
    currency: row.currency,
    is_active: row.isActive,
    archived_at: iso(row.archivedAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
