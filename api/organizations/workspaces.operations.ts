import type { Static } from 'typebox';
import { mapPage, type Page } from '../../db/page.ts';
import { isUnbounded, organizationOf } from '../../db/caller-scope.ts';
import { readOrganization } from '../../db/tenancy/organizations/organizations.ts';
import { listWorkspaceRows, readWorkspace, type WorkspaceRow } from '../../db/tenancy/workspaces/workspaces.ts';
import { insertWorkspace } from '../../domain/tenancy/new-workspace.ts';
import { lockOrganization } from '../../domain/tenancy/organizations.ts';
import { archiveWorkspace, changeWorkspace, lockWorkspace, restoreWorkspace } from '../../domain/tenancy/workspaces.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { get, list, patch, post, remove, reply, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import { checkCurrency, checkTimezone } from '../http/views/zones.ts';
import { changesOf, hasAny } from '../http/operation/changes.ts';
import { NameQuery, OrganizationParams } from './organization.schema.ts';
import { toWorkspaceView, WorkspaceCreate, WorkspaceParams, WorkspaceUpdate, WorkspaceView } from './workspace.schema.ts';

const fields = ['name', 'slug', 'description', 'timezone', 'currency'] as const;

export const workspaceOperations = {
  listOrganizationWorkspaces: list(
    '/organizations/{organization_id}/workspaces',
    {
      summary: 'List the workspaces of an organization',
      description:
        'Workspaces of one organization that the caller can see, including archived ones, newest first. q searches name and slug.',
      access: 'viewer',
      paging: 'keyset',
      params: OrganizationParams,
      query: NameQuery,
      view: WorkspaceView,
    },
    async (ctx, { params, query }) => mapPage(await workspacesIn(ctx, params.organization_id, query.q), toWorkspaceView),
  ),

  createWorkspace: post(
    '/organizations/{organization_id}/workspaces',
    {
      summary: 'Create a workspace',
      description: 'Creates a workspace; only for callers with access to the whole organization. An omitted slug is derived from the name.',
      access: 'admin',
      fails: ['already_exists', 'state_conflict'],
      audit: 'create',
      idempotent: true,
      params: OrganizationParams,
      body: WorkspaceCreate,
      view: WorkspaceView,
      location: (view: Static<typeof WorkspaceView>) => `/workspaces/${view.id}`,
      example: { body: { name: 'Support', slug: 'support', timezone: 'Europe/Berlin', currency: 'EUR' } },
    },
    async (ctx, { params, body }) => {
      checkTimezone('/timezone', body.timezone);
      checkCurrency('/currency', body.currency);
      const organization = await lockOrganization(ctx, params.organization_id);
      const made = await insertWorkspace(ctx, organization, {
        slug: body.slug ?? null,
        name: body.name,
        description: body.description ?? null,
        timezone: body.timezone ?? organization.timezone,
        currency: body.currency ?? 'USD',
      });

      ctx.audit(noteOf(made, {}));
      return toWorkspaceView(made);
    },
  ),

  listWorkspaces: list(
    '/workspaces',
    {
      summary: 'List workspaces',
      description: 'Workspaces that the caller can see, including archived ones, newest first. q searches name and slug.',
      access: 'viewer',
      paging: 'keyset',
      query: NameQuery,
      view: WorkspaceView,
    },
    async (ctx, { query }) => mapPage(await listWorkspaceRows(ctx, query, ctx.page), toWorkspaceView),
  ),

  getWorkspace: get(
    '/workspaces/{workspace_id}',
    {
      summary: 'Read a workspace',
      description: 'Returns one workspace, archived or not.',
      access: 'viewer',
      etag: true,
      params: WorkspaceParams,
      view: WorkspaceView,
    },
    async (ctx, { params }) => {
      const row = await readWorkspace(ctx, params.workspace_id);
      return reply(toWorkspaceView(row), { version: row.version });
    },
  ),

  updateWorkspace: patch(
    '/workspaces/{workspace_id}',
    {
      summary: 'Change a workspace',
      description: 'Changes the fields that are sent and keeps the rest.',
      access: 'admin',
      fails: ['already_exists'],
      audit: 'update',
      etag: true,
      params: WorkspaceParams,
      body: WorkspaceUpdate,
      view: WorkspaceView,
      example: { body: { name: 'Support', description: 'Answers the questions of customers', currency: 'EUR' } },
    },
    async (ctx, { params, body }) => {
      checkTimezone('/timezone', body.timezone);
      checkCurrency('/currency', body.currency);
      const before = await lockWorkspace(ctx, params.workspace_id);
      const changes = changesOf(before, { ...before, ...body }, fields);
      const after = hasAny(changes) ? await changeWorkspace(ctx, before, { ...before, ...body }) : before;

      ctx.audit(noteOf(after, changes));
      return reply(toWorkspaceView(after), { version: after.version });
    },
  ),

  archiveWorkspace: remove(
    '/workspaces/{workspace_id}',
    {
      summary: 'Archive a workspace',
      description:
        'Triggers stop and live runs are cancelled; the workspace can be restored until the retention period of archived workspaces has passed.',
      access: 'owner',
      fails: ['state_conflict'],
      audit: 'delete',
      openWhenSuspended: true,
      params: WorkspaceParams,
    },
    async (ctx, { params }) => {
      const { before, after } = await archiveWorkspace(ctx, params.workspace_id);

      ctx.audit(noteOf(after, changesOf(toWorkspaceView(before), toWorkspaceView(after), ['is_active'])));
    },
  ),

  restoreWorkspace: post(
    '/workspaces/{workspace_id}/restore',
    {
      summary: 'Restore a workspace',
      description: 'Reactivates an archived workspace: its triggers resume; cancelled runs stay cancelled.',
      access: 'owner',
      fails: ['already_exists', 'state_conflict'],
      audit: 'update',
      openWhenSuspended: true,
      params: WorkspaceParams,
      view: WorkspaceView,
      success: [200],
    },
    async (ctx, { params }) => {
      const { before, after } = await restoreWorkspace(ctx, params.workspace_id);

      ctx.audit(noteOf(after, changesOf(toWorkspaceView(before), toWorkspaceView(after), ['is_active'])));
      return toWorkspaceView(after);
    },
  ),
};

/** Throws 404 for an organization that the caller doesn't see. */
async function workspacesIn(ctx: Ctx, organizationId: string, q: string | undefined): Promise<Page<WorkspaceRow>> {
  const { caller } = ctx;
  const isOwn = organizationOf(caller) === organizationId;
  if (!isOwn && !isUnbounded(caller)) throw fail('not_found');

  const page = await listWorkspaceRows(ctx, { q, organizationId }, ctx.page);
  // An operator may name what doesn't exist; rows prove that it does.
  if (!isOwn && page.items.length === 0) await readOrganization(ctx, organizationId);
  return page;
}

function noteOf(workspace: WorkspaceRow, changes: AuditNote['changes']): AuditNote {
  return {
    resourceType: 'workspace',
    resourceId: workspace.id,
    label: workspace.slug,
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    changes,
  };
}
