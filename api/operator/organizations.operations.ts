import type { OrganizationRow } from '../../db/tenancy/organizations/organization-row.ts';
import {
  createOrganization,
  deleteOrganization,
  purgeOrganization,
  resumeOrganization,
  suspendOrganization,
} from '../../domain/operator/organizations.ts';
import { post, remove, reply, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import { OrganizationView, toOrganizationView } from '../http/views/organization-view.ts';
import { checkTimezone } from '../http/views/zones.ts';
import { prepareOwner } from './first-owner.ts';
import {
  OrganizationCreate,
  OrganizationParams,
  OrganizationPurge,
  OrganizationSuspend,
  PurgeView,
  toPurgeView,
} from './organization.schema.ts';

const byOperators = { access: 'operator', visibility: 'operator', openWhenSuspended: true } as const;

export const operatorOrganizationOperations = {
  createOrganization: post(
    '/organizations',
    {
      ...byOperators,
      // Narrowed, an operator is a caller of that organization: a new one would lie outside.
      ofPlatform: true,
      summary: 'Create an organization',
      description:
        'Creates an organization with its settings, a first workspace and its owner. The owner is created at once if a password is sent, otherwise by an invitation to the address.',
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
      const organization = await createOrganization(ctx, ctx.deps.keys, { asked: body, ...identified });

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
        'Schedules pause, live runs are cancelled and nothing can be changed; reading and signing in remain possible. Repeating the request changes nothing.',
      audit: 'update',
      fails: ['state_conflict'],
      params: OrganizationParams,
      body: OrganizationSuspend,
      example: { body: { reason: 'Asked for by its owner', confirm: 'acme' } },
      view: OrganizationView,
      success: [200],
    },
    async (ctx, { params, body }) => {
      const { before, after } = await suspendOrganization(ctx, params.organization_id, body);
      if (before === after) return unchanged(ctx, before);

      ctx.audit(noteOf(after, { ...statusChange(before, after), reason: { to: body.reason } }));
      return toOrganizationView(after);
    },
  ),

  resumeOrganization: post(
    '/organizations/{organization_id}/resume',
    {
      ...byOperators,
      summary: 'Resume an organization',
      description: 'Reactivates a suspended organization, or a deleted one within its grace period. Cancelled runs stay cancelled.',
      audit: 'update',
      fails: ['state_conflict'],
      params: OrganizationParams,
      view: OrganizationView,
      success: [200],
    },
    async (ctx, { params }) => {
      const { before, after } = await resumeOrganization(ctx, params.organization_id);
      if (before === after) return unchanged(ctx, before);

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
        'Suspends it and begins a grace period of 30 days, after which it is purged; until then it can be resumed. Repeating the request changes nothing.',
      audit: 'delete',
      params: OrganizationParams,
    },
    async (ctx, { params }) => {
      const { before, after } = await deleteOrganization(ctx, params.organization_id);
      if (before === after) return ctx.audit(noteOf(before, {}));

      ctx.audit(noteOf(after, statusChange(before, after)));
    },
  ),

  purgeOrganization: post(
    '/organizations/{organization_id}/purge',
    {
      ...byOperators,
      summary: 'Purge an organization',
      description:
        'Removes all data of a deleted organization except the usage ledger and a tombstone, without waiting for the end of its grace period. Repeating the request returns the same purge; a failed one is queued again. Once it is done, the organization is 404.',
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
      const { organization, purge } = await purgeOrganization(ctx, params.organization_id, body);

      ctx.audit(noteOf(organization, { reason: { to: body.reason }, purge_id: { to: purge.id } }));
      return reply(toPurgeView(purge), { status: 202 });
    },
  ),
};

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
