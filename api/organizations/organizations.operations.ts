import type { Static } from 'typebox';
import { mapPage } from '../../db/page.ts';
import { listOrganizationRows, readOrganization } from '../../db/tenancy/organizations/organizations.ts';
import { changeOrganization, lockOrganization } from '../../domain/tenancy/organizations.ts';
import { handOver } from '../../domain/tenancy/ownership.ts';
import { readSettings, type SettingsRow } from '../../db/tenancy/organizations/settings.ts';
import { changeSettings, checkInstallations, lockSettings } from '../../domain/tenancy/settings.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { get, list, patch, post, reply, type Ctx } from '../http/operation/operation.ts';
import { OrganizationView, toOrganizationView } from '../http/views/organization-view.ts';
import { checkTimezone } from '../http/views/zones.ts';
import { changesOf, hasAny } from '../http/operation/changes.ts';
import { NameQuery, OrganizationParams, OrganizationUpdate, OwnershipTransfer } from './organization.schema.ts';
import {
  operatorSettings,
  OrganizationSettingsUpdate,
  OrganizationSettingsView,
  settingNames,
  toSettings,
  toSettingsView,
} from './settings.schema.ts';

export const organizationOperations = {
  listOrganizations: list(
    '/organizations',
    {
      summary: 'List organizations',
      description: "The caller's own organization; for operators all organizations, newest first. q searches name and slug.",
      access: 'viewer',
      paging: 'keyset',
      query: NameQuery,
      view: OrganizationView,
    },
    async (ctx, { query }) => mapPage(await listOrganizationRows(ctx, query, ctx.page), toOrganizationView),
  ),

  getOrganization: get(
    '/organizations/{organization_id}',
    {
      summary: 'Read an organization',
      description: 'One organization, with its state.',
      access: 'viewer',
      etag: true,
      params: OrganizationParams,
      view: OrganizationView,
    },
    async (ctx, { params }) => {
      const row = await readOrganization(ctx, params.organization_id);
      return reply(toOrganizationView(row), { version: row.version });
    },
  ),

  updateOrganization: patch(
    '/organizations/{organization_id}',
    {
      summary: 'Change an organization',
      description: 'Changes name, slug or time zone; only for owners of the whole organization.',
      access: 'owner',
      fails: ['already_exists'],
      audit: 'update',
      etag: true,
      params: OrganizationParams,
      body: OrganizationUpdate,
      view: OrganizationView,
      example: { body: { name: 'Example', timezone: 'Europe/Berlin' } },
    },
    async (ctx, { params, body }) => {
      checkTimezone('/timezone', body.timezone);
      const before = await lockOrganization(ctx, params.organization_id);
      const changes = changesOf(before, { ...before, ...body }, ['name', 'slug', 'timezone']);
      const after = hasAny(changes) ? await changeOrganization(ctx, before, { ...before, ...body }) : before;

      ctx.audit({ resourceType: 'organization', resourceId: after.id, label: after.slug, organizationId: after.id, changes });
      return reply(toOrganizationView(after), { version: after.version });
    },
  ),

  getOrganizationSettings: get(
    '/organizations/{organization_id}/settings',
    {
      summary: "Read an organization's settings",
      description: "Returns the organization's settings for sign-in, invitations and retention.",
      access: 'admin',
      etag: true,
      params: OrganizationParams,
      view: OrganizationSettingsView,
    },
    async (ctx, { params }) => {
      const row = await readSettings(ctx, params.organization_id);
      return reply(toSettingsView(row), { version: row.version });
    },
  ),

  updateOrganizationSettings: patch(
    '/organizations/{organization_id}/settings',
    {
      summary: "Change an organization's settings",
      description:
        'Changes the fields that are sent and keeps the rest; requires a factor verified within the last 10 minutes. Only operators can set egress_allowlist and git_installations.',
      access: 'owner',
      audit: 'update',
      etag: true,
      stepUp: true,
      notDelegable: true,
      resourceType: 'organization_settings',
      params: OrganizationParams,
      body: OrganizationSettingsUpdate,
      view: OrganizationSettingsView,
      example: { body: { require_mfa: true, session_idle_days: 7, session_absolute_days: 30 } },
    },
    async (ctx, { params, body }) => {
      const after = await updateSettings(ctx, params.organization_id, body);
      return reply(toSettingsView(after), { version: after.version });
    },
  ),

  transferOwnership: post(
    '/organizations/{organization_id}/transfer-ownership',
    {
      summary: 'Transfer the ownership',
      description:
        'In one step, the named user becomes an owner of the whole organization and the caller an admin; requires a factor verified within the last 10 minutes.',
      access: 'owner',
      fails: ['state_conflict'],
      audit: 'update',
      stepUp: true,
      notDelegable: true,
      params: OrganizationParams,
      body: OwnershipTransfer,
      view: OrganizationView,
      success: [200],
      example: { body: { user_id: '01900000-0000-7000-8000-000000000002' } },
    },
    async (ctx, { params, body }) => {
      const fromUserId = giverOf(ctx, body.from_user_id);
      const organization = await lockOrganization(ctx, params.organization_id, { refuse: () => refuseGiver(ctx, body.from_user_id) });
      await handOver(ctx, { organizationId: organization.id, toUserId: body.user_id, fromUserId });

      ctx.audit({
        resourceType: 'organization',
        resourceId: organization.id,
        label: organization.slug,
        organizationId: organization.id,
        changes: { owner: { from: fromUserId, to: body.user_id } },
      });
      return toOrganizationView(organization);
    },
  ),
};

async function updateSettings(ctx: Ctx, organizationId: string, body: Static<typeof OrganizationSettingsUpdate>): Promise<SettingsRow> {
  const settings = toSettings(body);
  const before = await lockSettings(ctx, organizationId, () => refuseOperatorSettings(ctx, body));
  const wanted = { ...before, ...settings };
  if (wanted.sessionIdleDays > wanted.sessionAbsoluteDays) {
    const field = settings.sessionIdleDays === undefined ? 'session_absolute_days' : 'session_idle_days';
    throw invalid(`/${field}`, 'range', 'session_idle_days must be at most session_absolute_days');
  }
  if (settings.gitInstallations) await checkInstallations(ctx, organizationId, settings.gitInstallations);

  const changes = changesOf(toSettingsView(before), toSettingsView(wanted), settingNames);
  const after = hasAny(changes) ? await changeSettings(ctx, before, settings) : before;
  // The next request reads the row; open streams of sessions without a factor end now.
  if (after.requireMfa && !before.requireMfa) ctx.outgoing.revoked.push(`organization:${organizationId}`);
  ctx.audit({ resourceType: 'organization_settings', resourceId: organizationId, organizationId, changes });
  return after;
}

function refuseOperatorSettings({ caller }: Ctx, body: Static<typeof OrganizationSettingsUpdate>): void {
  const field = caller.role === 'operator' ? undefined : operatorSettings.find((name) => body[name] !== undefined);
  if (field) throw operatorOnly(field);
}

// The caller transfers their own ownership; an operator owns nothing and names the previous owner.
function refuseGiver({ caller }: Ctx, fromUserId: string | undefined): void {
  if (caller.role !== 'operator' && fromUserId !== undefined) throw operatorOnly('from_user_id');
}

function giverOf({ caller }: Ctx, fromUserId: string | undefined): string {
  const giver = caller.role === 'operator' ? fromUserId : caller.userId;
  if (!giver) throw invalid('/from_user_id', 'required', 'is required: an operator must name the owner who becomes an admin');
  return giver;
}

function operatorOnly(field: string) {
  return fail('resource_forbidden', { reason: 'operator_only', detail: `Only an operator can set ${field}.`, context: { field } });
}
