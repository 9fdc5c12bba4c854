import { insertOrganization, setActive, setDeleting, setSuspended } from '../../db/operator/organizations.ts';
import { isPurged, requestPurge } from '../../db/operator/purges.ts';
import { resumeOrganization, stopOrganization } from '../../db/operator/stops.ts';
import { insertWorkspace } from '../../db/tenancy/new-workspace.ts';
import type { OrganizationRow } from '../../db/tenancy/organization-row.ts';
import { lockOrganization } from '../../db/tenancy/organizations.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { post, remove, reply, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import { OrganizationView, toOrganizationView } from '../http/views/organization-view.ts';
import { checkTimezone } from '../http/views/zones.ts';
import { addOwner, prepareOwner } from './first-owner.ts';
import {
  OrganizationCreate,
  OrganizationParams,
  OrganizationPurge,
  OrganizationSuspend,
  PurgeView,
  toPurgeView,
} from './organization.schema.ts';

const byOperators = { access: 'operator', visibility: 'operator', openWhenFrozen: true } as const;

export const operatorOrganizationOperations = {
  createOrganization: post(
    '/organizations',
    {
      ...byOperators,
      // Narrowed, an operator is a caller of that organization: a new one would lie outside.
      ofPlatform: true,
      summary: 'Create an organization',
      description:
        'Makes an organization with its settings, a first workspace and its owner: at once when a password is sent, else by an invitation to the address.',
      audit: 'create',
      fails: ['already_exists'],
      idempotent: true,
      success: [201],
      location: (view: { readonly id: string }) => `/organizations/${view.id}`,
      body: OrganizationCreate,
      view: OrganizationView,
      identify: prepareOwner,
      example: { body: { name: 'Acme', slug: 'acme', owner: { email: 'owner@acme.example', full_name: 'Ada Owner' } } },
    },
    async (ctx, { body, identified }) => {
      checkTimezone('/timezone', body.timezone);
      const organization = await insertOrganization(ctx, { name: body.name, slug: body.slug, timezone: body.timezone ?? 'UTC' });
      await insertWorkspace(ctx, organization, {
        name: body.workspace?.name ?? 'Main',
        slug: body.workspace?.slug ?? (body.workspace?.name === undefined ? 'main' : null),
        description: null,
        timezone: organization.timezone,
        currency: 'USD',
      });
      await addOwner(ctx, organization.id, { owner: body.owner, ...identified });

      ctx.audit(noteOf(organization, { name: { to: organization.name }, slug: { to: organization.slug } }));
      return toOrganizationView(organization);
    },
  ),

  suspendOrganization: post(
    '/organizations/{organization_id}/suspend',
    {
      ...byOperators,
      summary: 'Suspend an organization',
      description:
        'Schedules pause, live runs are cancelled and nothing can be written; reading and signing in go on. Repeats change nothing.',
      audit: 'update',
      fails: ['state_conflict'],
      params: OrganizationParams,
      body: OrganizationSuspend,
      example: { body: { reason: 'Asked for by its owner', confirm: 'acme' } },
      view: OrganizationView,
      success: [200],
    },
    async (ctx, { params, body }) => {
      const before = await lockConfirmed(ctx, params.organization_id, body.confirm);
      if (before.status === 'deleting') throw fail('state_conflict', { reason: 'deleting', detail: 'The organization is being deleted.' });
      if (before.status === 'suspended') return unchanged(ctx, before);

      const after = await setSuspended(ctx, before.id, body.reason);
      await stopOrganization(ctx, after.id);
      ctx.audit(noteOf(after, { ...statusChange(before, after), reason: { to: body.reason } }));
      return toOrganizationView(after);
    },
  ),

  resumeOrganization: post(
    '/organizations/{organization_id}/resume',
    {
      ...byOperators,
      summary: 'Resume an organization',
      description: 'Takes a suspended organization, or a deleted one within its grace, back into use. Runs that were cancelled stay so.',
      audit: 'update',
      fails: ['state_conflict'],
      params: OrganizationParams,
      view: OrganizationView,
      success: [200],
    },
    async (ctx, { params }) => {
      const before = await lockOrganization(ctx, params.organization_id, { openWhenFrozen: true });
      if (before.status === 'active') return unchanged(ctx, before);
      if (await isPurged(ctx, before.id)) throw fail('state_conflict', { reason: 'purging', detail: 'The organization is being purged.' });

      const after = await setActive(ctx, before.id);
      await resumeOrganization(ctx, after.id);
      ctx.audit(noteOf(after, statusChange(before, after)));
      return toOrganizationView(after);
    },
  ),

  deleteOrganization: remove(
    '/organizations/{organization_id}',
    {
      ...byOperators,
      summary: 'Delete an organization',
      description:
        'Suspends it and begins a grace of 30 days, after which it is purged; until then it can be resumed. Repeats change nothing.',
      audit: 'delete',
      params: OrganizationParams,
    },
    async (ctx, { params }) => {
      const before = await lockOrganization(ctx, params.organization_id, { openWhenFrozen: true });
      if (before.status === 'deleting') return ctx.audit(noteOf(before, {}));

      const after = await setDeleting(ctx, before.id);
      await stopOrganization(ctx, after.id);
      ctx.audit(noteOf(after, statusChange(before, after)));
    },
  ),

  purgeOrganization: post(
    '/organizations/{organization_id}/purge',
    {
      ...byOperators,
      summary: 'Purge an organization',
      description:
        'Removes everything a deleted organization had but the usage ledger and a tombstone, without waiting for the end of its grace. Repeats give the same purge; a failed one is queued again. Once it is done the organization is 404.',
      audit: 'purge',
      fails: ['state_conflict'],
      idempotent: true,
      params: OrganizationParams,
      body: OrganizationPurge,
      example: { body: { reason: 'The contract has ended', confirm: 'acme' } },
      view: PurgeView,
      success: [202],
    },
    async (ctx, { params, body }) => {
      const organization = await lockConfirmed(ctx, params.organization_id, body.confirm);
      if (organization.status !== 'deleting')
        throw fail('state_conflict', { reason: 'not_deleted', detail: 'Delete the organization first.' });

      const purge = await requestPurge(ctx, organization.id, { reason: body.reason, requestedByUserId: ctx.caller.principalId });
      ctx.audit(noteOf(organization, { reason: { to: body.reason }, purge_id: { to: purge.id } }));
      return reply(toPurgeView(purge), { status: 202 });
    },
  ),
};

/** The organization, locked; 422 unless the caller has typed its slug. */
async function lockConfirmed(ctx: Ctx, id: string, slug: string): Promise<OrganizationRow> {
  const organization = await lockOrganization(ctx, id, { openWhenFrozen: true });
  if (slug !== organization.slug) throw invalid('/confirm', 'confirm', 'must be the slug of the organization');
  return organization;
}

function unchanged(ctx: Ctx, organization: OrganizationRow) {
  ctx.audit(noteOf(organization, {}));
  return toOrganizationView(organization);
}

function statusChange(before: OrganizationRow, after: OrganizationRow): AuditNote['changes'] {
  return { status: { from: before.status, to: after.status } };
}

// In the organization's own chain, so that a purge takes it along.
function noteOf(organization: OrganizationRow, changes: AuditNote['changes']): AuditNote {
  return {
    resourceType: 'organization',
    resourceId: organization.id,
    label: organization.slug,
    organizationId: organization.id,
    workspaceId: null,
    changes,
  };
}
